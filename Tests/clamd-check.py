"""Asks a door for clients of ClamAV's daemon with clients that others wrote, and prints what each made of the answers.

    Tests/clamd-check.py FOLDER_OF_SLUICE [CLIENT…]        or, from the project root: make clamd-check CLIENTS="exim rspamd"

Four contents, three times: with ClamAV's daemon behind a `scan` stage, with that daemon down, and with the daemon down and
`unknown: found`. All lies in a temporary folder, all listens on loopback, and all that was started is ended.
"""
import contextlib, os, re, shutil, signal, socket, subprocess, sys, tempfile, time

BIN, ONLY = os.path.abspath(sys.argv[1]), sys.argv[2:]
ROOT = tempfile.mkdtemp(prefix="sluice-clamd-check-")
os.chmod(ROOT, 0o755)
DOOR, MAIL_DOOR = ROOT + "/door.sock", ROOT + "/mail.sock"
PATIENCE = 60  # seconds that one client may take for one content
EICAR = b"".join([rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$", b"EICAR-STANDARD-ANTIVIRUS", b"-TEST-FILE!$H+H*"])
started = []


def path(name, content=None, mode=None):
    place = os.path.join(ROOT, name)
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if content is not None:
        with open(place, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(place, mode or 0o644)
    return place


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def start(name, *words, **more):
    log = path("log/" + name)
    with open(log, "wb") as output:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, **more)
    process.log = log
    started.append(process)
    return process


def end(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run(*words, **more):
    return subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, errors="replace", text=True, **more)


def connect(place):
    one = socket.socket(socket.AF_UNIX if isinstance(place, str) else socket.AF_INET)
    one.settimeout(5)
    one.connect(place if isinstance(place, str) else ("127.0.0.1", place))
    return one


def wait_for(place, process, ask=None):
    """Until it takes connections; with `ask`, until it answers that as well."""
    end_of_wait = time.monotonic() + 20
    while time.monotonic() < end_of_wait:
        if process.poll() is not None:
            raise RuntimeError("it ended: " + open(process.log, errors="replace").read()[-500:])
        with contextlib.suppress(OSError):
            with connect(place) as one:
                if ask is None:
                    return
                one.sendall(ask)
                if one.recv(100):
                    return
        time.sleep(0.05)
    raise RuntimeError("it does not answer")


# ---- What is judged -----------------------------------------------------------------------------------------------------------

def contents():
    subprocess.run([BIN + "/sluice-samples", path("samples/x")[:-2]], check=True, stdout=subprocess.DEVNULL)
    damaged = open(ROOT + "/samples/damaged.pdf", "rb").read()
    return {
        "clean": ("clean.txt", "text/plain", b"Dear Ben, the report is attached.\n" * 40),
        "EICAR": ("eicar.txt", "text/plain", EICAR),
        "damaged PDF": ("damaged.pdf", "application/pdf", damaged),
        "too long": ("long.txt", "text/plain", b"Dear Ben, this is a long text.\n" * 80_000),
    }


# `%s`: what comes before the PDF is looked at.
JUDGE = """
version: 1
stages:
  - use: mime
    options: { allow: ["*/*"] }
%%s  - use: pdf
    when: application/pdf
  - use: scan
    options: { address: "unix:%s/clamd.sock" }
""" % ROOT


class Clamd:
    """The real daemon, with one signature."""

    def __init__(self):
        path("signatures/test.ndb", "Sluice.Test.Eicar:0:*:%s\n" % EICAR.hex())
        path("clamd.conf", "\n".join([
            "Foreground yes", "LocalSocket %s/clamd.sock" % ROOT, "DatabaseDirectory %s/signatures" % ROOT,
            "TemporaryDirectory " + ROOT, "LogFile %s/log/clamd-itself" % ROOT, ""]))
        path("log/x", "")
        self.process = start("clamd", "/usr/sbin/clamd", "--config-file", ROOT + "/clamd.conf")
        wait_for(ROOT + "/clamd.sock", self.process)


class Door:
    """`sluice serve` with a door for files at a Unix socket, and two for whole mails, at another one and at a port."""

    def __init__(self, unknown):
        self.port = free_port()
        path("files.yaml", JUDGE % "")
        path("mails.yaml", JUDGE % "  - use: mail\n    options: { all: true }\n")
        doors = ", ".join(
            "{ listen: %s, pipeline: %s, max-size: 1MB, unknown: %s }" % (listen, pipeline, unknown)
            for listen, pipeline in [
                ('"unix:%s"' % DOOR, "files.yaml"), ('"unix:%s"' % MAIL_DOOR, "mails.yaml"),
                ("127.0.0.1:%d" % self.port, "mails.yaml")])
        path("serve.yaml", "version: 1\nstages: [{ use: size }]\nserve: { clamd: [%s] }\n" % doors)
        self.process = start(
            "sluice", BIN + "/sluice", "serve", "--home", ROOT + "/home", "--listen", "127.0.0.1:0", "--config",
            ROOT + "/serve.yaml")
        wait_for(DOOR, self.process, b"PING\n")


# ---- Clients ------------------------------------------------------------------------------------------------------------------
# Each says of a content what it makes of the answer: "clean", "found NAME", or "error".

class Clamdscan:
    def __init__(self, door, option):
        self.option = option
        self.config = path("clamdscan.conf", "LocalSocket %s\n" % DOOR)

    def ask(self, name, kind, content):
        file = path("clamdscan/" + name, content)
        told = run("clamdscan", "--config-file", self.config, self.option, "--no-summary", file)
        found = re.search(r": (\S+) FOUND", told.stdout)
        if told.returncode == 1 and found:
            return "found " + found[1]
        return "clean" if told.returncode == 0 and told.stdout.strip().endswith(": OK") else "error"


class ClamdscanMany:
    """Twenty files of a kind at once, in sessions. Of those that are clean it says nothing."""

    def __init__(self, door, option):
        self.option, self.config = option, path("clamdscan.conf", "LocalSocket %s\n" % DOOR)

    def ask(self, name, kind, content):
        for number in range(20):
            path("many-%s/%d-%s" % (name, number, name), content)
        told = run("clamdscan", "--config-file", self.config, "--multiscan", "--no-summary", self.option, ROOT + "/many-" + name)
        found = re.findall(r": (\S+) FOUND", told.stdout)
        if told.returncode == 1 and len(found) == 20 and len(set(found)) == 1:
            return "found " + found[0]
        is_clean = told.returncode == 0 and all(line.endswith(": OK") for line in told.stdout.split("\n") if line)
        return "clean" if is_clean else "error" if told.returncode == 2 else "several"


class Pyclamd:
    def __init__(self, door):
        sys.path.append("/usr/lib/python3/dist-packages")
        import pyclamd
        self.client = pyclamd.ClamdUnixSocket(DOOR)
        assert self.client.ping()

    def ask(self, name, kind, content):
        try:
            told = self.client.scan_stream(content)
        except Exception:
            return "error"
        if told is None:
            return "clean"
        verdict, why = told["stream"]
        return "found " + why if verdict == "FOUND" else "error"


def mail(name, kind, content):
    import email.message, email.policy
    message = email.message.EmailMessage(policy=email.policy.SMTP)
    for key, value in [("From", "ann@example.com"), ("To", "ben@example.com"), ("Subject", "A file"),
                       ("Date", "Thu, 01 Jan 2026 10:00:00 +0000"), ("Message-Id", "<%s@example.com>" % name)]:
        message[key] = value
    message.set_content("It is attached.\n")
    main, sub = kind.split("/")
    message.add_attachment(content, maintype=main, subtype=sub, filename=name)
    return bytes(message)


class Rspamd:
    def __init__(self, door):
        self.port = free_port()
        path("rspamd/run/x", "")
        shutil.chown(ROOT + "/rspamd/run", "_rspamd")
        config = path("rspamd/rspamd.conf", """
            options { pidfile = "%(r)s/rspamd/run/pid"; filters = ""; dns { nameserver = "127.0.0.1:1"; } }
            logging { type = "console"; level = "info"; }
            worker "normal" { bind_socket = "127.0.0.1:%(port)d"; count = 1; }
            modules { path = "/usr/share/rspamd/plugins/antivirus.lua"; }
            lua = "/usr/share/rspamd/rules/rspamd.lua";
            antivirus { sluice {
              type = "clamav"; servers = "%(door)s"; symbol = "CLAM_VIRUS"; scan_mime_parts = true; log_clean = true;
              scan_text_mime = true; timeout = 10; retransmits = 1; max_size = 100000000; } }
            metric { name = "default"; actions { reject = 15; } }
            """ % {"r": ROOT, "port": self.port, "door": DOOR})
        self.process = start("rspamd", "/usr/bin/rspamd", "-f", "-i", "-c", config)
        wait_for(self.port, self.process)

    def ask(self, name, kind, content):
        import http.client, json
        before = os.path.getsize(self.process.log)
        asked = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        asked.request("POST", "/checkv2", mail(name, kind, content))
        symbols = json.loads(asked.getresponse().read())["symbols"]
        if "CLAM_VIRUS" in symbols:
            return "found " + symbols["CLAM_VIRUS"]["options"][0]
        if "CLAM_VIRUS_FAIL" in symbols:
            return "error"
        with open(self.process.log, errors="replace") as log:
            log.seek(before)
            return "clean" if "message or mime_part is clean" in log.read() else "nothing"


class Exim:
    """By TCP: over a Unix socket it names a path."""

    def __init__(self, door):
        path("exim/spool/x", "")
        shutil.chown(ROOT + "/exim/spool", "Debian-exim", "Debian-exim")
        self.config = path("exim/exim.conf", """
            spool_directory = %s/exim/spool
            log_file_path = %s/exim/spool/%%slog
            primary_hostname = door.example
            av_scanner = clamd:127.0.0.1 %d
            acl_smtp_rcpt = accept
            acl_smtp_data = check
            message_size_limit = 50M
            begin acl
            check:
              deny malware = *
                   message = found $malware_name
              deny message = clean
            """ % (ROOT, ROOT, door.port))

    def ask(self, name, kind, content):
        message = path("exim/message", mail(name, kind, content))
        told = run(
            "swaks", "--pipe", "/usr/sbin/exim4 -C %s -bs" % self.config, "--from", "ann@example.com", "--to",
            "ben@example.com", "--helo", "here", "--data", "@" + message)
        found = re.search(r"550[ -]found (\S+)", told.stdout)
        if found:
            return "found " + found[1]
        if "550 clean" in told.stdout:
            return "clean"
        return "error" if re.search(r"<[~*-]* *45\d", told.stdout) else "none: " + told.stdout[-200:]


class Postfix:
    """With clamav-milter. The package conflicts with that of exim, so it is unpacked in the temporary folder."""

    def __init__(self, door):
        self.port, milter = free_port(), free_port()
        config = path("milter.conf", "\n".join([
            "Foreground yes", "MilterSocket inet:%d@127.0.0.1" % milter, "ClamdSocket unix:" + MAIL_DOOR, "OnClean Accept",
            "OnInfected Reject", "OnFail Defer", "RejectMsg found %v", "MaxFileSize 100M", "LogFile %s/log/milter-itself" % ROOT,
            "LogInfected Basic", "TemporaryDirectory " + ROOT, ""]))
        wait_for(milter, start("milter", "/usr/sbin/clamav-milter", "--config-file", config))
        tree = ROOT + "/postfix"
        os.makedirs(tree, exist_ok=True)
        if not os.path.exists(tree + "/usr"):
            subprocess.run(["apt-get", "download", "-qq", "postfix"], cwd=tree, check=True, timeout=120, stderr=subprocess.DEVNULL)
            package = next(name for name in os.listdir(tree) if name.endswith(".deb"))
            subprocess.run(["dpkg", "-x", package, tree], cwd=tree, check=True)
        # Its user and group are there for it alone.
        users, groups = open("/etc/passwd").read(), open("/etc/group").read()
        path("postfix/passwd", users + "postfix:x:64001:64001::/nonexistent:/usr/sbin/nologin\n")
        path("postfix/group", groups + "postfix:x:64001:\npostdrop:x:64002:\n")
        for name in "active bounce corrupt defer deferred flush hold incoming maildrop pid private public saved trace".split():
            os.makedirs(tree + "/spool/" + name, exist_ok=True)
            os.chown(tree + "/spool/" + name, 0 if name == "pid" else 64001, 64002 if name in ("maildrop", "public") else -1)
        os.makedirs(tree + "/data", exist_ok=True)
        os.chown(tree + "/data", 64001, 64001)
        path("postfix/etc/main.cf", """
compatibility_level = 3.6
queue_directory = %(t)s/spool
data_directory = %(t)s/data
daemon_directory = %(t)s/usr/lib/postfix/sbin
command_directory = %(t)s/usr/sbin
shlib_directory = %(t)s/usr/lib/postfix
meta_directory = %(t)s/etc
mail_owner = postfix
setgid_group = postdrop
myhostname = door.example
mydestination = example.com
local_recipient_maps =
alias_maps =
default_transport = discard
local_transport = discard
inet_interfaces = 127.0.0.1
message_size_limit = 50000000
import_environment = MAIL_CONFIG LD_LIBRARY_PATH
maillog_file = /dev/stdout
smtpd_milters = inet:127.0.0.1:%(milter)d
milter_default_action = tempfail
smtpd_relay_restrictions =
smtpd_recipient_restrictions = permit_mynetworks, reject
""" % {"t": tree, "milter": milter})
        path("postfix/etc/master.cf", "\n".join([
            "127.0.0.1:%d inet n - n - - smtpd" % self.port, "cleanup unix n - n - 0 cleanup", "qmgr unix n - n 300 1 qmgr",
            "rewrite unix - - n - - trivial-rewrite", "discard unix - - n - - discard", "anvil unix - - n - 1 anvil",
            "bounce unix - - n - 0 bounce", "defer unix - - n - 0 bounce", "trace unix - - n - 0 bounce",
            "proxymap unix - - n - - proxymap", "error unix - - n - - error",
            "postlog unix-dgram n - n - 1 postlogd", ""]))
        environment = dict(os.environ, LD_LIBRARY_PATH=tree + "/usr/lib/postfix", MAIL_CONFIG=tree + "/etc")
        command = "mount --bind %s/passwd /etc/passwd && mount --bind %s/group /etc/group && exec %s -c %s -d" % (
            tree, tree, tree + "/usr/lib/postfix/sbin/master", tree + "/etc")
        process = start("postfix", "unshare", "-m", "sh", "-c", command, env=environment)
        wait_for(self.port, process, b"QUIT\r\n")

    def ask(self, name, kind, content):
        message = path("message", mail(name, kind, content))
        told = run("swaks", "--server", "127.0.0.1:%d" % self.port, "--from", "ann@example.com", "--to", "ben@example.com",
                   "--helo", "here", "--data", "@" + message)
        found = re.search(r"550 [\d.]+ found (\S+)", told.stdout)
        if found:
            return "found " + found[1]
        if re.search(r"250 2.0.0 Ok: queued", told.stdout):
            return "clean"
        return "error" if re.search(r"<\S* +45\d", told.stdout) else "none: " + told.stdout[-200:]


class CIcap:
    def __init__(self, door):
        self.port = free_port()
        path("icap/run/x", "")
        config = path("icap/c-icap.conf", """
PidFile %(r)s/icap/run/pid
CommandsSocket %(r)s/icap/run/ctl
Port 127.0.0.1:%(port)d
StartServers 1
MaxServers 1
ThreadsPerChild 10
User %(user)s
TmpDir /tmp
DebugLevel 1
ModulesDir /usr/lib/x86_64-linux-gnu/c_icap
ServicesDir /usr/lib/x86_64-linux-gnu/c_icap
TemplateDir /usr/share/c_icap/templates/
LoadMagicFile /etc/c-icap/c-icap.magic
ServerLog %(r)s/icap/run/log
AccessLog %(r)s/icap/run/access
Module common clamd_mod.so
clamd_mod.ClamdSocket %(door)s
Service antivirus_module virus_scan.so
virus_scan.ScanFileTypes TEXT DATA EXECUTABLE ARCHIVE GIF JPEG MSOFFICE PDF
virus_scan.MaxObjectSize 50M
virus_scan.SendPercentData 5
virus_scan.StartSendPercentDataAfter 5M
virus_scan.DefaultEngine clamd
virus_scan.PassOnError off
""" % {"r": ROOT, "port": self.port, "door": DOOR, "user": "c-icap"})
        shutil.chown(ROOT + "/icap/run", "c-icap")
        process = start("c-icap", "/usr/bin/c-icap", "-N", "-D", "-f", config)
        wait_for(self.port, process)

    def ask(self, name, kind, content):
        file, answer = path("icap/" + name, content), path("icap/answer")
        if os.path.exists(answer):
            os.unlink(answer)
        told = run("c-icap-client", "-i", "127.0.0.1", "-p", str(self.port), "-s", "virus_scan", "-f", file, "-o", answer, "-v",
                   "-resp", "http://x.example/" + name)
        found = re.search(r"X-Infection-Found:.*Threat=([^;\s]+)", told.stdout)
        if found:
            return "found " + found[1]
        # It passes on what it does not change, and breaks its answer off after an error.
        passed = os.path.exists(answer) and open(answer, "rb").read() == content
        return "clean" if passed or re.search(r"ICAP/1\.0 204", told.stdout) else "error"


CLIENTS = {
    "clamdscan --stream": lambda door: Clamdscan(door, "--stream"),
    "clamdscan --fdpass": lambda door: Clamdscan(door, "--fdpass"),
    "clamdscan --multiscan --stream": lambda door: ClamdscanMany(door, "--stream"),
    "clamdscan --multiscan --fdpass": lambda door: ClamdscanMany(door, "--fdpass"),
    "clamdscan (a path)": lambda door: Clamdscan(door, "-v"),
    "pyclamd": Pyclamd,
    "rspamd": Rspamd,
    "exim": Exim,
    "postfix, clamav-milter": Postfix,
    "c-icap, clamd_mod": CIcap,
}


def expected(client, content, state):
    if client.endswith("(a path)") or content == "too long":
        return "error"
    # Without its scanner nothing can be said of the mail, and what is in it is not looked at.
    is_mail = client.split(",")[0] in ("exim", "postfix")
    if content == "damaged PDF" and not (is_mail and state != "clamd"):
        return "found Sluice.pdf.pdf-damaged"
    if state == "clamd":
        return "clean" if content == "clean" else "found Sluice.Test.Eicar.UNOFFICIAL"
    if state == "found":
        return "found Sluice.scan.scanner-unavailable"
    return "error"


# What rspamd 3.4 makes of an error: it logs that, and the mail has no symbol.
PASSED_OVER = "nothing"


def main():
    failures = 0
    print("%-32s %-16s %-12s %-42s %s" % ("client", "state", "content", "expected", "seen"))
    for state, words in [("clamd", "clamd is up"), ("down", "clamd is down"), ("found", "down, found")]:
        clamd = Clamd() if state == "clamd" else None
        door = Door("found" if state == "found" else "error")
        for client, make in CLIENTS.items():
            if ONLY and not any(one in client for one in ONLY):
                continue
            before = len(started)
            try:
                asked, why = make(door), ""
            except Exception as problem:
                asked, why = None, "%s" % problem
            for content in CONTENTS:
                want = expected(client, content, state)
                want = PASSED_OVER if client == "rspamd" and want == "error" else want
                try:
                    seen = asked.ask(*CONTENTS[content]) if asked else "not started: " + why[-200:]
                except Exception as problem:
                    seen = "failed: %r" % problem
                good = seen == want
                failures += not good
                print("%-32s %-16s %-12s %-42s %s" % (client, words, content, want, "the same" if good else "OTHERWISE: " + seen), flush=True)
            for process in started[before:]:
                end(process)
            del started[before:]
        for process in started:
            end(process)
        started.clear()
    print("%d answers were otherwise" % failures)
    return 1 if failures else 0


signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
try:
    CONTENTS = contents()
    code = main()
finally:
    for process in started:
        end(process)
    if os.environ.get("KEEP"):
        print(ROOT)
    else:
        shutil.rmtree(ROOT, ignore_errors=True)
sys.exit(code)
