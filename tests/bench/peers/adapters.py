"""Other people's readers of .etl files, driven to do what `etwship dump` does: NDJSON, one object
per record with its field names and values where the reader gives them.

    adapters.py dissect|etl-parser TRACE OUTPUT

The last line on stdout is {"records": n, "named": n, "error": text or null}. A reader that ends
with an exception keeps what it had given until then.
"""

import json
import sys


def plain(value):
    """What json cannot write becomes text, as a user of the library would print it."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return str(value)


class Output:
    def __init__(self, file):
        self.file, self.records, self.named = file, 0, 0

    def write(self, header, fields):
        self.records += 1
        if fields:
            self.named += 1
            header["data"] = fields
        json.dump(header, self.file, default=plain)
        self.file.write("\n")


def dissect(path, output):
    from dissect.etl.etl import ETL

    with open(path, "rb") as file:
        for buffer in ETL(file).buffers():
            for record in buffer:
                header = record.header
                try:
                    # event_values() asks for an attribute of an older dissect.cstruct and raises
                    # on every decoded event, so the structure itself is read.
                    event = record.event
                    struct = getattr(event, "_struct", None)
                    fields = dict(struct.__values__) if struct is not None else None
                    shown = {"time": event.ts(), "provider": event.provider_id(),
                             "name": event.symbol()}
                # The library raises what comes on data it does not know; a record costs only
                # itself.
                except Exception as error:
                    fields, shown = None, {"error": repr(error)}
                output.write({"size": header.size} | shown, fields)


def etl_parser(path, output):
    from etl.error import EventIdNotFound, EventTypeNotFound, EtwVersionNotFound
    from etl.error import GroupNotFound, GuidNotFound, TlMetaDataNotFound, VersionNotFound
    from etl.etl import IEtlFileObserver, build_from_stream

    unknown = (GroupNotFound, VersionNotFound, EventTypeNotFound, EtwVersionNotFound,
               EventIdNotFound, GuidNotFound, TlMetaDataNotFound)

    def value_of(value):
        if hasattr(value, "string"):
            raw = bytearray(value.string)
            if value.type == "WString":
                return raw[:-2].decode("utf-16le", "replace")
            return raw[:-1].decode("ascii", "replace")
        return value

    def of_pattern(parsed):
        return {part.name: value_of(parsed.source[part.name]) for part in parsed.pattern.subcons}

    def event_fields(event):
        try:
            return dict(event.parse_tracelogging().items())
        except TlMetaDataNotFound:
            return of_pattern(event.parse_etw())

    class Observer(IEtlFileObserver):
        def record(self, header, fields_of):
            try:
                fields = fields_of()
            except unknown:
                fields = None
            except Exception as error:  # as above
                fields, header["error"] = None, repr(error)
            output.write(header, fields)

        def on_event_record(self, event):
            self.record({"time": event.get_timestamp(), "pid": event.get_process_id()},
                        lambda: event_fields(event))

        def on_trace_record(self, event):
            self.record({"pid": event.get_process_id()}, lambda: None)

        def on_perfinfo_trace(self, obj):
            self.record({"time": obj.get_timestamp()}, lambda: of_pattern(obj.get_mof()))

        def on_system_trace(self, obj):
            self.record({"pid": obj.get_process_id()}, lambda: of_pattern(obj.get_mof()))

        def on_win_trace(self, event):
            self.record({}, lambda: of_pattern(event.parse_etw()))

    with open(path, "rb") as file:
        build_from_stream(file.read()).parse(Observer())


READERS = {"dissect": dissect, "etl-parser": etl_parser}


def main():
    reader, path, target = sys.argv[1:]
    error = None
    with open(target, "w", encoding="utf-8") as file:
        output = Output(file)
        try:
            READERS[reader](path, output)
        # Whatever ends a reader is a result of the comparison.
        except Exception as caught:
            error = type(caught).__name__
    print(json.dumps({"records": output.records, "named": output.named, "error": error}))


if __name__ == "__main__":
    main()
