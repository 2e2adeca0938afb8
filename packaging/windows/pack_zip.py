"""Pack a folder into a zip archive of which every byte follows from its files and one time.

    pack_zip.py FOLDER ARCHIVE SECONDS-SINCE-1970
"""

import sys
import zipfile
from datetime import datetime, timezone
from pathlib import Path

OF_UNIX, FILE = 3, 0o100644


def main():
    folder, archive = Path(sys.argv[1]), sys.argv[2]
    # Its times are without a zone and have two seconds of a step: here UTC.
    time = datetime.fromtimestamp(int(sys.argv[3]), timezone.utc).timetuple()[:6]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix(), time)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = OF_UNIX, FILE << 16
            out.writestr(entry, path.read_bytes(), compresslevel=9)


if __name__ == "__main__":
    main()
