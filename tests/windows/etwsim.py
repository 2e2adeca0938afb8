"""etwsim.dll from outside: every documented name is there, undecorated, and it stands alone."""

import re
import subprocess
import unittest

import wine

DLL = wine.ETWSIM
OBJDUMP = wine.TOOLS + "objdump"

# evntrace.h, evntprov.h, evntcons.h and tdh.h. A program that imports a name that is missing does
# not start at all.
DOCUMENTED = """
StartTraceW StartTraceA ControlTraceW ControlTraceA StopTraceW StopTraceA QueryTraceW QueryTraceA
FlushTraceW FlushTraceA UpdateTraceW UpdateTraceA QueryAllTracesW QueryAllTracesA EnableTrace
EnableTraceEx EnableTraceEx2 EnumerateTraceGuids EnumerateTraceGuidsEx TraceSetInformation
TraceQueryInformation EventAccessControl EventAccessQuery EventAccessRemove
OpenTraceW OpenTraceA ProcessTrace CloseTrace SetTraceCallback RemoveTraceCallback
OpenTraceFromRealTimeLogger
EventRegister EventUnregister EventEnabled EventProviderEnabled EventWrite EventWriteEx
EventWriteTransfer EventWriteString EventActivityIdControl EventSetInformation
RegisterTraceGuidsW RegisterTraceGuidsA UnregisterTraceGuids GetTraceEnableFlags
GetTraceEnableLevel GetTraceLoggerHandle TraceEvent TraceEventInstance CreateTraceInstanceId
TraceMessage TraceMessageVa
TdhGetEventInformation TdhGetEventMapInformation TdhGetProperty TdhGetPropertySize
TdhGetPropertyOffsetAndSize TdhFormatProperty TdhEnumerateProviders
TdhEnumerateProvidersForDecodingSource TdhEnumerateProviderFieldInformation
TdhQueryProviderFieldInformation TdhEnumerateProviderFilters TdhEnumerateManifestProviderEvents
TdhGetManifestEventInformation TdhGetAllEventsInformation TdhLoadManifest
TdhLoadManifestFromBinary TdhUnloadManifest TdhCreatePayloadFilter TdhDeletePayloadFilter
TdhAggregatePayloadFilters TdhCleanupPayloadEventFilterDescriptor TdhGetWppProperty
TdhGetWppMessage TdhOpenDecodingHandle TdhSetDecodingParameter TdhGetDecodingParameter
TdhCloseDecodingHandle
""".split()


class Image(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.headers = subprocess.run([OBJDUMP, "-p", str(DLL)], check=True,
                                     stdout=subprocess.PIPE).stdout.decode()

    def test_it_exports_the_documented_names_and_no_others(self):
        self.assertEqual(sorted(wine.exports(DLL)), sorted(DOCUMENTED))

    def test_it_needs_no_dll_but_those_of_windows(self):
        found = {name.lower() for name in re.findall(r"DLL Name: (\S+)", self.headers)}
        self.assertLessEqual(found, {"advapi32.dll", "kernel32.dll", "msvcrt.dll", "shell32.dll", "ws2_32.dll"})


if __name__ == "__main__":
    wine.need(DLL)
    unittest.main()
