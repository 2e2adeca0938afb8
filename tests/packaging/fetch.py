"""How the sources of the libraries for Windows are fetched (packaging/windows/cross/fetch.sh).

A registry of crates and a Debian mirror of the test's own, on loopback, and the machine's own cargo and apt
as clients: what they do with archives that are right, forged, cut short or gone, and what fetch.sh says and
exits with.
"""

import contextlib
import hashlib
import http.server
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest
import zipfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
CROSS = TOP / "packaging/windows/cross"
# A net under a program that does not end, no measure.
TIMEOUT_S = 300
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
FORGED, CANNOT = 1, 77
APT_HELPER = Path("/usr/lib/apt/apt-helper")

sys.path.insert(0, str(TOP / "packaging/windows"))


def archive(name, files):
    """A .tar.gz with one folder NAME and ${files}: path -> text."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(f"{name}/{path}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return data.getvalue()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        data = self.server.files.get(self.path)
        if data is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        if self.path.endswith("/"):
            self.send_header("Content-Type", "text/html")
        self.end_headers()
        # What is cut short ends with the connection.
        self.wfile.write(data[:len(data) // 2] if self.path in self.server.cut else data)

    def log_message(self, *_):
        pass


class Registries(http.server.ThreadingHTTPServer):
    """A registry of crates (sparse protocol) below /index and /crates, a mirror below /debian."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.cut, self.asked = {}, set(), []
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files["/index/config.json"] = json.dumps({"dl": self.url + "/crates"}).encode()

    def put_crate(self, name, version, data, digest=None):
        line = {"name": name, "vers": version, "deps": [], "cksum": digest or sha256(data),
                "features": {}, "yanked": False}
        self.files[f"/index/{name[:2]}/{name[2:4]}/{name}"] = json.dumps(line).encode() + b"\n"
        self.files[f"/crates/{name}/{version}/download"] = data


@contextlib.contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Fetches(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="etwship-fetch-")))
        self.server = self.enterContext(serving(Registries()))
        self.cross = self.folder / "cross"
        (self.cross / "crates").mkdir(parents=True)
        shutil.copy(CROSS / "fetch.sh", self.cross)
        self.rows, self.locked = [], []
        self.runs = 0
        apt = self.folder / "apt.conf"
        (self.folder / "sources.list").write_text(f"deb [trusted=yes] {self.server.url}/debian some main\n")
        apt.write_text(f'Dir::Etc::SourceList "{self.folder}/sources.list";\n'
                       'Dir::Etc::SourceParts "/dev/null";\n'
                       f'Dir::State::Lists "{self.folder}/lists";\nAcquire::http::Proxy "DIRECT";\n')
        home = self.folder / "cargo"
        home.mkdir()
        (home / "config.toml").write_text(
            '[source.crates-io]\nreplace-with = "test"\n\n'
            f'[source.test]\nregistry = "sparse+{self.server.url}/index/"\n\n[net]\nretry = 0\n')
        self.environment = {
            **os.environ, "APT_CONFIG": str(apt), "CARGO_HOME": str(home),
            "XDG_CACHE_HOME": str(self.folder / "cache"), "TMPDIR": str(self.folder), "LC_ALL": "C",
            "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        # rustup finds its toolchains beside cargo's home otherwise.
        self.environment.setdefault("RUSTUP_HOME", str(Path.home() / ".rustup"))

    # ---- what is offered ------------------------------------------------------------------------

    def pool(self, library, version, text="int one;\n", digest=None):
        """A row of the table and the file in the mirror. Returns the archive."""
        if not APT_HELPER.exists():
            self.skipTest("no apt")
        data = archive(f"{library}-{version}", {"src/one.c": text, "COPYING": "Free.\n"})
        path = f"main/l/{library}/{library}_{version}.orig.tar.gz"
        self.server.files["/debian/pool/" + path] = data
        self.rows.append([library, version, "pool", path, digest or sha256(data), ".", "COPYING"])
        return data

    def crate(self, library, version, text="int one;\n", digest=None):
        """A row of the table, an entry of the lock file, and the crate in the registry."""
        if not shutil.which("cargo"):
            self.skipTest("no cargo")
        name = library + "-sys"
        manifest = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n'
        data = archive(f"{name}-{version}", {
            "Cargo.toml": manifest, "src/lib.rs": "", "upstream/one.c": text, "upstream/LICENSE": "Free.\n"})
        self.server.put_crate(name, version, data, digest)
        self.rows.append([library, version, "crate", name, "-", "upstream", "LICENSE"])
        self.locked.append((name, version, digest or sha256(data)))
        return data

    def fetch(self, code=0, path=None):
        """Runs fetch.sh. Returns what it wrote to stderr, and the folder that it filled."""
        (self.cross / "sources.tsv").write_text(
            "# comment\n" + "".join("\t".join(row) + "\n" for row in self.rows))
        wanted = "".join(f'{name} = "={version}"\n' for name, version, _ in self.locked)
        (self.cross / "crates/Cargo.toml").write_text(
            '[package]\nname = "sources"\nversion = "0.0.0"\nedition = "2021"\n\n'
            f'[lib]\npath = "/dev/null"\n\n[dependencies]\n{wanted}')
        names = "".join(f' "{name}",\n' for name, _, _ in sorted(self.locked))
        lock = f'version = 4\n\n[[package]]\nname = "sources"\nversion = "0.0.0"\ndependencies = [\n{names}]\n'
        for name, version, digest in sorted(self.locked):
            lock += (f'\n[[package]]\nname = "{name}"\nversion = "{version}"\nsource = "{CRATES_IO}"\n'
                     f'checksum = "{digest}"\n')
        (self.cross / "crates/Cargo.lock").write_text(lock)
        self.runs += 1
        out = self.folder / f"out-{self.runs}"
        environment = {**self.environment, "PATH": path} if path else self.environment
        done = subprocess.run([self.cross / "fetch.sh", out], env=environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr, out

    def says(self, code, pattern, **options):
        """Fails with one line, and with nothing of what it could not get."""
        said, out = self.fetch(code, **options)
        self.assertRegex(said, r"\ANo libraries for Windows: [^\n]+\n\Z")
        self.assertRegex(said, pattern)
        self.assertFalse((out / "zeta").exists())

    # ---- what comes -----------------------------------------------------------------------------

    def test_it_unpacks_what_the_table_names(self):
        first, second = self.pool("alpha", "1.2"), self.crate("zeta", "0.3.4+c-9", "int nine;\n")
        said, out = self.fetch()
        self.assertEqual(said, "")
        self.assertEqual((out / "alpha/src/one.c").read_text(), "int one;\n")
        self.assertEqual((out / "zeta/one.c").read_text(), "int nine;\n")
        rows = [line.split("\t") for line in (out / "fetched.tsv").read_text().splitlines()]
        self.assertEqual(rows, [
            ["alpha", "1.2", "alpha_1.2.orig.tar.gz", sha256(first),
             f"pkg:generic/alpha@1.2?checksum=sha256:{sha256(first)}", "COPYING"],
            ["zeta", "0.3.4+c-9", "zeta-sys-0.3.4+c-9.crate", sha256(second),
             "pkg:cargo/zeta-sys@0.3.4%2Bc-9", "LICENSE"]])

    def test_a_second_time_it_asks_nobody(self):
        self.pool("alpha", "1.2")
        self.crate("zeta", "0.3.4")
        self.fetch()
        shutil.rmtree(self.environment["CARGO_HOME"])
        self.server.asked.clear()
        _, out = self.fetch()
        self.assertEqual(self.server.asked, [])
        self.assertTrue((out / "zeta/one.c").exists())

    def test_an_archive_that_was_damaged_since_is_fetched_again(self):
        self.pool("alpha", "1.2")
        self.fetch()
        kept = self.folder / "cache/etwship/sources/alpha_1.2.orig.tar.gz"
        kept.write_bytes(kept.read_bytes()[:100])
        _, out = self.fetch()
        self.assertTrue((out / "alpha/src/one.c").exists())

    def test_it_finds_what_only_the_repository_of_security_updates_has(self):
        self.pool("alpha", "1.2")
        path = "/debian/pool/main/l/alpha/alpha_1.2.orig.tar.gz"
        self.server.files[path.replace("/pool/", "/pool/updates/")] = self.server.files.pop(path)
        _, out = self.fetch()
        self.assertTrue((out / "alpha/src/one.c").exists())

    # ---- what does not come ---------------------------------------------------------------------

    def test_where_a_version_is_gone_it_takes_the_next_and_says_so(self):
        self.pool("zeta", "2.0")
        self.server.files.pop("/debian/pool/main/l/zeta/zeta_2.0.orig.tar.gz")
        self.pool("zeta", "1.0", "int older;\n")
        said, out = self.fetch()
        self.assertEqual(said, "Takes zeta 1.0 (zeta 2.0: no repository of apt's has "
                               "zeta_2.0.orig.tar.gz)\n")
        self.assertEqual((out / "zeta/src/one.c").read_text(), "int older;\n")
        self.assertIn("zeta\t1.0\t", (out / "fetched.tsv").read_text())

    def test_where_no_version_is_left_it_says_which_is_missing(self):
        self.pool("alpha", "1.2")
        for version in ["2.0", "1.0"]:
            self.pool("zeta", version)
            self.server.files.pop(f"/debian/pool/main/l/zeta/zeta_{version}.orig.tar.gz")
        self.says(CANNOT, r"zeta 2\.0: no repository .*; zeta 1\.0: no repository")

    def test_a_crate_that_is_gone(self):
        self.crate("zeta", "0.3.4")
        self.server.files.pop("/crates/zeta-sys/0.3.4/download")
        self.says(CANNOT, r"zeta 0\.3\.4: cargo: .*\b404\b")

    def test_a_forged_file_of_the_pool(self):
        wanted = sha256(b"what the table is about")
        data = self.pool("zeta", "1.0", digest=wanted)
        self.says(FORGED, f"zeta_1.0.orig.tar.gz has the SHA-256 {sha256(data)}, not {wanted}")

    def test_a_forged_file_of_the_pool_where_another_source_is_good(self):
        self.pool("zeta", "1.0", digest=sha256(b"what the table is about"))
        self.crate("zeta", "0.9.0")
        said, out = self.fetch()
        self.assertRegex(said, r"\ATakes zeta 0\.9\.0 \(zeta 1\.0: zeta_1\.0\.orig\.tar\.gz has the SHA-256")
        self.assertTrue((out / "zeta/one.c").exists())

    def test_a_crate_that_is_not_the_one_of_the_lock_file(self):
        self.crate("zeta", "0.3.4", digest=sha256(b"what the lock file is about"))
        self.says(FORGED, r"zeta 0\.3\.4: cargo: .*checksum")

    def test_a_crate_that_was_changed_on_this_machine(self):
        data = self.crate("zeta", "0.3.4")
        self.fetch()
        shutil.rmtree(self.folder / "cache")
        for path in (self.folder / "cargo/registry/cache").glob("*/*.crate"):
            path.write_bytes(data + b"more")
        self.says(FORGED, f"has the SHA-256 {sha256(data + b'more')}, not {sha256(data)}")

    def test_a_file_of_the_pool_that_was_cut_short(self):
        self.pool("zeta", "1.0")
        self.server.cut.add("/debian/pool/main/l/zeta/zeta_1.0.orig.tar.gz")
        self.says(CANNOT, r"zeta 1\.0: apt: ")

    def test_a_crate_that_was_cut_short(self):
        self.crate("zeta", "0.3.4")
        self.server.cut.add("/crates/zeta-sys/0.3.4/download")
        self.says(CANNOT, r"zeta 0\.3\.4: cargo: ")

    def test_without_a_network(self):
        self.pool("zeta", "1.0")
        self.crate("zeta", "0.3.4")
        self.server.shutdown()
        self.server.server_close()
        self.says(CANNOT, r"zeta 1\.0: apt: .*; zeta 0\.3\.4: cargo: ")

    # ---- what the machine lacks -----------------------------------------------------------------

    def path_without(self, *lacking):
        """A folder of the PATH's programs, without some."""
        folder = self.folder / "bin"
        folder.mkdir()
        for place in os.environ["PATH"].split(os.pathsep):
            for program in sorted(Path(place).glob("*")) if Path(place).is_dir() else []:
                if program.name not in lacking and not (folder / program.name).is_symlink():
                    (folder / program.name).symlink_to(program)
        return str(folder)

    def test_without_cargo(self):
        self.crate("zeta", "0.3.4")
        self.says(CANNOT, r"zeta 0\.3\.4: no cargo \(packaging/deps\.sh windows\)$",
                  path=self.path_without("cargo"))

    def test_without_a_tool_no_library_is_built(self):
        for tool in ["x86_64-w64-mingw32-gcc", "nasm", "cmake", "ninja", "make"]:
            with self.subTest(tool=tool):
                path = self.path_without(tool)
                done = subprocess.run([CROSS / "prefix.sh"], env={**self.environment, "PATH": path},
                                      text=True, check=False, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
                self.assertEqual((done.returncode, done.stdout), (CANNOT, ""))
                self.assertRegex(done.stderr, r"\ANo libraries for Windows: no \S+ "
                                              r"\(packaging/deps\.sh windows\)\n\Z")
                shutil.rmtree(path)


class Zig(unittest.TestCase):
    """What brings the compiler for ARM64: pip, from an index of packages on loopback."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="etwship-fetch-")))
        self.server = self.enterContext(serving(Registries()))
        self.version = re.search(r"^ziglang==(\S+)", (CROSS / "zig.txt").read_text(), re.M)[1]
        if not shutil.which("x86_64-w64-mingw32-windres"):
            self.skipTest("no mingw-w64 (packaging/deps.sh windows)")

    def fetch(self):
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"), "PIP_CONFIG_FILE": os.devnull,
                       "PIP_INDEX_URL": self.server.url + "/simple", "PIP_RETRIES": "0", "NO_PROXY": "127.0.0.1",
                       "no_proxy": "127.0.0.1", "PIP_NO_CACHE_DIR": "1"}
        done = subprocess.run([CROSS / "zig.sh"], env=environment, text=True, check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.stdout, "")
        # Nothing of it is kept, and it is tried again.
        self.assertEqual(list((self.folder / "cache/etwship").iterdir()), [])
        return done

    def test_where_pip_has_no_such_package_it_says_so(self):
        done = self.fetch()
        self.assertEqual(done.returncode, CANNOT)
        self.assertRegex(done.stderr, r"\ANothing builds for ARM64: pip cannot fetch Zig \(.+\)\n\Z")

    def test_a_forged_compiler_is_refused(self):
        name = f"ziglang-{self.version}-py3-none-any.whl"
        wheel = io.BytesIO()
        with zipfile.ZipFile(wheel, "w") as archive:
            archive.writestr("ziglang/zig", "forged")
        self.server.files["/simple/ziglang/"] = f'<a href="/{name}">{name}</a>'.encode()
        self.server.files["/" + name] = wheel.getvalue()
        done = self.fetch()
        self.assertEqual(done.returncode, FORGED, done.stderr)
        self.assertIn("DO NOT MATCH", done.stderr)


class Table(unittest.TestCase):
    """sources.tsv itself."""

    def setUp(self):
        lines = (CROSS / "sources.tsv").read_text().splitlines()
        self.rows = [line.split("\t") for line in lines if not line.startswith("#")]

    def test_every_row_is_pinned(self):
        lock = (CROSS / "crates/Cargo.lock").read_text()
        crates = dict(re.findall(r'^name = "(.+)"\nversion = .+\nsource = .+\nchecksum = "[0-9a-f]{64}"$()',
                                 lock, re.M))
        for row in self.rows:
            with self.subTest(row=row[:2]):
                self.assertEqual(len(row), 7)
                _, version, origin, name, digest, _, _ = row
                if origin == "crate":
                    self.assertIn(name, crates)
                else:
                    self.assertEqual(origin, "pool")
                    self.assertIn(f"_{version}.orig.tar.", name)
                    self.assertRegex(digest, r"^[0-9a-f]{64}$")

    def test_what_the_program_holds_ends_with_a_crate_which_never_vanishes(self):
        last = {row[0]: row[2] for row in self.rows}
        self.assertEqual(last.pop("cmocka"), "pool") # no crate has it, and only tests need it
        self.assertEqual(set(last.values()), {"crate"})

    def test_every_library_has_a_license_in_the_bill_of_materials(self):
        from sbom import LICENSES
        for row in self.rows:
            if row[0] != "cmocka":
                self.assertIn(row[0], LICENSES)


if __name__ == "__main__":
    unittest.main()
