"""Completion in shells offers what the commands take: their pages (--help) say what that is.

bash completes by COMP_WORDS, as it calls the function itself; zsh at a terminal of its own; of the
script for PowerShell the syntax is looked at, by PowerShell where it is installed.
"""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

from cli_rig import BINARY, DONE, TIMEOUT_S, USAGE, Cli

OPTION = re.compile(r"^       (?:-(\w), )?--([a-z0-9-]+)(?: (\S+))?(?: \(may be repeated\))?$", re.M)


class Completion(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = os.path.dirname(BINARY)
        cls.path = f"{folder}:{os.environ['PATH']}"
        listed = subprocess.run([BINARY, "--help"], stdout=subprocess.PIPE, check=True, timeout=TIMEOUT_S)
        cls.commands = re.findall(r"^  ([a-z-]+) +\w", listed.stdout.decode(), re.M)

    def options_of(self, command):
        """The options of a command, from its page: {"--format": "native|ecs", …}; None: the option takes no value."""
        found = {}
        for letter, name, value in OPTION.findall(self.expect(DONE, command, "--help").out):
            found[f"--{name}"] = value or None
            if letter:
                found[f"-{letter}"] = value or None
        return found

    # bash.

    def bash(self, *words, current=""):
        """The completions of bash after ${words} for the word ${current}."""
        script = self.folder / "etwship.bash"
        if not script.exists():
            script.write_text(self.expect(DONE, "completion", "bash").out, encoding="utf-8")
        call = ('source "$1"; shift; [[ $(complete -p etwship) == *" -F _etwship "* ]] || exit 9\n'
                'COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}\n'
                '_etwship "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"\n'
                'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "--norc", "-c", call, "bash", script, "etwship", *map(str, words),
                               current], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self.folder, env=os.environ | {"PATH": self.path},
                              timeout=TIMEOUT_S, check=True)
        self.assertEqual(done.stderr, b"")
        return sorted(done.stdout.decode().split("\n")[:-1]) if done.stdout.strip() else []

    def need(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"no {shell}")

    def test_bash_offers_every_command(self):
        self.need("bash")
        self.assertEqual(self.bash(), sorted(self.commands + ["--help", "--version"]))
        self.assertEqual(self.bash(current="du"), ["dump"])

    def test_bash_offers_every_option_of_every_command(self):
        self.need("bash")
        for command in self.commands:
            options = self.options_of(command)
            self.assertIn("--help", options)
            self.assertEqual(self.bash(command, current="-"), sorted(set(options) - {"-h"}), command)
            for option, value in options.items():
                if value and re.fullmatch(r"[a-z0-9]+(\|[a-z0-9]+)+", value):
                    with self.subTest(command=command, option=option):
                        self.assertEqual(self.bash(command, option), sorted(value.split("|")))
                        self.assertEqual(self.bash(command, option, "="), sorted(value.split("|")))

    def test_bash_offers_values_that_a_page_tells_in_words(self):
        self.need("bash")
        self.assertIn("manifest", self.bash("dump", "--schema-source", current="man"))
        self.assertIn("disk_io", self.bash("watch", "-k", current="disk"))
        self.assertEqual(self.bash("dump", "--utc-offset", current="l"), ["local"])
        self.assertIn("process.pid", self.bash("dump", "--fields", current="process.p"))

    def test_bash_offers_verbs_once(self):
        self.need("bash")
        for command, verb in (("spool", "verify"), ("deadletter", "replay"), ("sessions", "query"),
                              ("schema", "export"), ("service", "reload"), ("completion", "zsh")):
            self.assertIn(verb, self.bash(command))
            self.assertEqual(self.bash(command, current=verb[:3]), [verb])
        self.assertEqual(self.bash("spool", "verify"), [])
        self.assertEqual(self.bash("spool", "-c", "x.yaml", current="ver"), ["verify"])

    def test_bash_offers_files(self):
        self.need("bash")
        (self.folder / "a trace.etl").write_bytes(b"")
        (self.folder / "schemas").mkdir()
        for words in (("dump",), ("stat",), ("dump", "-o"), ("dump", "--schema"), ("run", "-c"),
                      ("dump", "--pretty", "-n", "5"), ("providers",)):
            with self.subTest(words=words):
                self.assertLessEqual({"a trace.etl", "schemas"}, set(self.bash(*words)))
        self.assertEqual(self.bash("version"), [])
        self.assertEqual(self.bash("dump", "--where"), [])

    def test_bash_offers_providers_of_the_traces_on_the_line(self):
        self.need("bash")
        self.assertIn("MSNT_SystemTrace", self.bash("dump", "-p"))
        self.assertNotIn("Etwship-Sample-Dns", self.bash("dump", "-p"))
        link = self.folder / "a b.etl"
        os.symlink(self.trace, link)
        for trace in (self.trace, link):
            self.assertEqual(self.bash("dump", trace, "-p", current="Etwship-S"),
                             ["Etwship-Sample-Dns", "Etwship-Sample-EventSource",
                              "Etwship-Sample-Process"])
            self.assertEqual(self.bash("dump", trace, "--provider", "=", current="Etwship.S"),
                             ["Etwship.Sample.Telemetry"])

    def test_bash_is_silent_about_what_is_unknown(self):
        self.need("bash")
        for words in (("nope",), ("nope", "-x"), ("dump", "--nope"), ("stat", "=")):
            self.bash(*words)

    def test_providers_are_a_line_each(self):
        self.assertIn("MSNT_SystemTrace", self.expect(DONE, "completion", "providers").out.splitlines())
        names = self.expect(DONE, "completion", "providers", self.trace).out.splitlines()
        want = {e["provider"].get("name") for e in self.expect(DONE, "dump", self.trace).events()}
        self.assertEqual(sorted(names), sorted(want - {None}))
        self.assertEqual(self.expect(DONE, "completion", "providers", "missing.etl").out, "")
        self.assert_error(self.expect(USAGE, "completion", "fish"), "fish")
        self.assert_error(self.expect(USAGE, "completion", "bash", "x"), "'x'")

    # zsh.

    def zsh(self, lines):
        """The result of one TAB after each line of ${lines}, in zsh."""
        functions = self.folder / "functions"
        functions.mkdir()
        (functions / "_etwship").write_text(self.expect(DONE, "completion", "zsh").out, encoding="utf-8")
        results = self.folder / "results"
        os.mkfifo(results)
        (self.folder / ".zshrc").write_text(
            f"PS1='ready> '; unsetopt beep; LISTMAX=1000000\nfpath=('{functions}' $fpath)\n"
            "autoload -Uz compinit && compinit -u -D\n"
            f"probe() {{ zle complete-word; print -rn -- \"$BUFFER\"$'\\0' >'{results}'; BUFFER= }}\n"
            "zle -N probe; bindkey '^T' probe\n", encoding="utf-8")
        environment = os.environ | {"PATH": self.path, "ZDOTDIR": str(self.folder), "TERM": "dumb"}
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-d", "-i"], environment)
        answers = os.open(results, os.O_RDWR | os.O_NONBLOCK)
        try:
            self.until(terminal, b"ready> ")
            return [self.probe(terminal, answers, line) for line in lines]
        finally:
            os.close(terminal)
            os.waitpid(child, 0)
            os.close(answers)

    def probe(self, terminal, answers, line):
        os.write(terminal, line.encode() + b"\x14")
        return self.until(answers, b"\0", also=terminal)[:-1].decode()

    def until(self, descriptor, end, also=None):
        """The output up to ${end}; output up to ${also} meanwhile is dropped."""
        got = b""
        deadline = time.monotonic() + TIMEOUT_S
        while end not in got:
            ready, _, _ = select.select([descriptor] + ([also] if also else []), [], [],
                                        deadline - time.monotonic())
            self.assertTrue(ready, f"nothing more comes behind {got!r}")
            if also in ready:
                os.read(also, 4096)
            if descriptor in ready:
                got += os.read(descriptor, 4096)
        return got

    def test_zsh_completes_commands_options_values_and_files(self):
        self.need("zsh")
        os.symlink(self.trace, self.folder / "only-one.etl")
        cases = {"etwship du": "etwship dump ",
                 "etwship dump --stack": "etwship dump --stack-walk=",
                 "etwship dump --stack-walk=j": "etwship dump --stack-walk=join ",
                 "etwship dump -f e": "etwship dump -f ecs ",
                 "etwship dump --uint64 s": "etwship dump --uint64 string ",
                 "etwship dump --prett": "etwship dump --pretty ",
                 "etwship watch -k disk_io_i": "etwship watch -k disk_io_init ",
                 "etwship spool ver": "etwship spool verify ",
                 "etwship dump only": "etwship dump only-one.etl ",
                 "etwship stat --json only": "etwship stat --json only-one.etl ",
                 "etwship dump -p MSNT": "etwship dump -p MSNT_SystemTrace ",
                 "etwship dump only-one.etl -p Etwship-Sample-D":
                     "etwship dump only-one.etl -p Etwship-Sample-Dns "}
        results = dict(zip(cases, self.zsh(cases)))
        self.assertEqual({line: done.rstrip() for line, done in results.items()},
                         {line: done.rstrip() for line, done in cases.items()})

    # PowerShell.

    def test_the_script_for_powershell_is_one(self):
        script = self.folder / "etwship.ps1"
        text = self.expect(DONE, "completion", "powershell").out
        script.write_text(text, encoding="utf-8")
        for command in self.commands:
            self.assertIn(f"        '{command}' = @{{\n", text)
            for option in set(self.options_of(command)) - {"--help", "-h"}:
                self.assertIn(f"                '{option}' = @{{ Takes = ", text)
        self.assert_balanced(text)
        powershell = shutil.which("pwsh") or shutil.which("powershell")
        if not powershell:
            print("no PowerShell: its script is not run", file=sys.stderr)
            return
        call = (f". '{script}'; $offered = [System.Management.Automation.CommandCompletion]::"
                "CompleteInput('etwship dump --format e', 23, $null); "
                "$offered.CompletionMatches | ForEach-Object CompletionText")
        done = subprocess.run([powershell, "-NoProfile", "-Command", call], stdout=subprocess.PIPE,
                              check=True, timeout=TIMEOUT_S, cwd=self.folder)
        self.assertEqual(done.stdout.decode().split(), ["ecs"])

    def assert_balanced(self, text):
        """Brackets match outside of strings and comments, and every string ends on its line."""
        closing = {")": "(", "]": "[", "}": "{"}
        for number, line in enumerate(text.splitlines(), 1):
            rest = re.sub(r"'(?:[^']|'')*'|\"(?:[^\"`]|`.)*\"|#.*", "", line)
            self.assertNotRegex(rest, "['\"]", f"line {number}: {line}")
        stack = []
        for c in re.sub(r"'(?:[^']|'')*'|\"(?:[^\"`]|`.)*\"|#[^\n]*", "", text):
            if c in "([{":
                stack.append(c)
            elif c in closing:
                self.assertTrue(stack and stack.pop() == closing[c])
        self.assertEqual(stack, [])


if __name__ == "__main__":
    unittest.main()
