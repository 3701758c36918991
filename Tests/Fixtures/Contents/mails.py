"""Writes mails into the current folder, or reads those that are named, and writes expected.json: what each must give, by Python's
own parser."""
import base64, email, email.policy, hashlib, json, quopri, sys
from email.message import EmailMessage

expected = {}


def content(name, data):
    return {"name": name or "", "sizeBytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def inner_name(part, inner):
    if part.get_filename():
        return part.get_filename()
    name, cut = inner["subject"] or "message", ""
    for letter in name:
        if len((cut + letter).encode()) > 96:
            break
        cut += letter
    return cut + ".eml"


def expect(file, raw):
    message = email.message_from_bytes(raw, policy=email.policy.default)
    children, derived, bodies = [], [], set()

    def walk(part):
        kind = part.get_content_type()
        if part.get_content_maintype() == "multipart" and isinstance(part.get_payload(), list):
            for inner in part.get_payload():
                walk(inner)
            return
        if kind == "message/rfc822":
            inner = part.get_payload(0)
            # Against RFC 2046, some programs encode it. Python takes the letters for a mail.
            if part.get("content-transfer-encoding", "").lower() == "base64":
                data = base64.b64decode(inner.get_payload())
                inner = email.message_from_bytes(data, policy=email.policy.default)
            else:
                data = inner.as_bytes()
            children.append(content(inner_name(part, inner), data))
            return
        data = part.get_payload(decode=True)
        name = {"text/plain": "body", "text/html": "body-html"}.get(kind)
        if name and name not in bodies and not part.get_filename() and part.get_content_disposition() != "attachment":
            bodies.add(name)
            charset = part.get_content_charset("utf-8")
            derived.append(content(name, data.decode(charset).encode()))
        else:
            children.append(content(part.get_filename(), data))

    walk(message)
    expected[file] = {"children": children, "derived": derived}


def write(file, raw):
    open(file, "wb").write(raw)
    expect(file, raw)


def start():
    message = EmailMessage()
    message["Subject"] = "Gr\u00fc\u00dfe"
    message["From"] = "ann@example.org"
    message["To"] = "ben@example.org"
    return message


def composed():
    texts = {"us-ascii": "hello", "utf-8": "Gr\u00fc\u00dfe \u2603", "iso-8859-1": "Gr\u00fc\u00dfe", "koi8-r": "\u043f\u0440\u0438\u0432\u0435\u0442",
             "windows-1251": "\u043f\u0440\u0438\u0432\u0435\u0442", "iso-2022-jp": "\u65e5\u672c\u8a9e", "shift_jis": "\u65e5\u672c\u8a9e",
             "gb18030": "\u4e2d\u6587", "big5": "\u4e2d\u6587", "euc-kr": "\ud55c\uad6d\uc5b4", "iso-8859-15": "10 \u20ac", "utf-16": "wide"}
    for charset, text in texts.items():
        for encoding in ["base64", "quoted-printable"]:
            raw = text.encode(charset)
            head = f"Subject: x\nMIME-Version: 1.0\nContent-Type: text/plain; charset={charset}\n"
            head += f"Content-Transfer-Encoding: {encoding}\n\n"
            if encoding == "base64":
                body = base64.encodebytes(raw)
            else:
                body = quopri.encodestring(raw)
            write(f"{charset}-{encoding}.eml", head.encode() + body)
    attachments = [("plain.pdf", b"%PDF-1.4\n" * 100), ("gr\u00fc\u00dfe \u2603.bin", bytes(range(256)) * 10), ("e" * 150 + ".png", b"x"),
                   ("empty.bin", b""), ("../../up.txt", b"up")]
    for ending, policy in [("lf", email.policy.default), ("crlf", email.policy.SMTP), ("utf8", email.policy.SMTPUTF8)]:
        message = start()
        message.set_content("the text\n")
        message.add_alternative("<p>the text</p>\n", subtype="html")
        for name, data in attachments:
            message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
        message.add_attachment("more text\n", filename="more.txt")
        inner = start()
        inner.set_content("inner\n")
        inner.add_attachment(b"zz", maintype="image", subtype="png", filename="z.png")
        if ending == "lf":
            message.add_attachment(inner)
        write(f"composed-{ending}.eml", message.as_bytes(policy=policy))


def written():
    """As no library writes them, and programs do."""
    def mail(kind, body, more=""):
        return f"Subject: x\nMIME-Version: 1.0\nContent-Type: {kind}\n{more}\n{body}".encode()
    mixed = 'multipart/mixed; boundary="b"'
    write("bare.eml", b"Subject: x\n\nno header of MIME\n")
    write("headers.eml", b"Subject: x\nFrom: a@example.org\n\n")
    write("two-texts.eml", mail(mixed, "--b\n\nfirst\n--b\nContent-Type: text/plain\n\nsecond\n--b--\n"))
    # Without a newline: Python takes it for one of the line that is missing.
    write("open.eml", mail(mixed, "--b\n\nno end of the parts"))
    write("preface.eml", mail(mixed, "preface\n--b\n\nfirst\n--b--\nepilogue\n"))
    write("empty-parts.eml", mail(mixed, "--b\nContent-Type: image/png\n\n--b\nContent-Type: image/png\n\n\n--b--\n"))
    write("spaces.eml", mail(mixed, "--b  \nContent-Type: image/png\n\nx\n--b-- \n"))
    write("prefix.eml", mail(mixed, "--b\nContent-Type: multipart/mixed; boundary=bc\n\n--bc\nContent-Type: image/png\n\nx\n--bc--\n--b--\n"))
    write("continued.eml", mail("image/png; name*0*=utf-8''gr%C3%BC; name*1*=%C3%9Fe; name*2=.png", "x\n"))
    write("encoded-name.eml", mail('image/png; name="=?utf-8?q?gr=C3=BC=C3=9Fe=2Epng?="', "x\n"))
    write("signed.eml", mail('multipart/signed; boundary=b; protocol="application/pgp-signature"',
                             "--b\n\ntext\n--b\nContent-Type: application/pgp-signature; name=signature.asc\n\nsig\n--b--\n"))
    write("related.eml", mail("multipart/related; boundary=b",
                              "--b\nContent-Type: text/html\n\n<img src=cid:1>\n--b\nContent-Type: image/png\nContent-ID: <1>\n"
                              "Content-Disposition: inline; filename=1.png\nContent-Transfer-Encoding: base64\n\nAAEC\n--b--\n"))
    write("uu.eml", mail("application/octet-stream; name=a.bin", "begin 644 a.bin\n%:&5L;&\\`\n`\nend\n",
                         "Content-Transfer-Encoding: x-uuencode\n"))
    write("eight.eml", mail("text/plain; charset=utf-8", "Gr\u00fc\u00dfe\n", "Content-Transfer-Encoding: 8bit\n"))
    write("binary.eml", b"Subject: x\nContent-Type: application/octet-stream; name=a\nContent-Transfer-Encoding: binary\n\n"
          + bytes(range(256)).replace(b"\r", b"") * 3)
    nested = "--b\nContent-Type: message/rfc822\nContent-Disposition: attachment; filename=inner.eml\n\n"
    nested += 'Content-Type: multipart/mixed; boundary="c"\nSubject: inner\n\n--c\n\ntext\n--c\nContent-Type: image/png\n\nx\n--c--\n\n--b--\n'
    write("headless.eml", mail(mixed, "--b\nContent-Type: message/rfc822\n\n\nno header\n--b--\n"))
    write("nested.eml", mail(mixed, nested))


if len(sys.argv) > 1:
    for file in sys.argv[1:]:
        expect(file, open(file, "rb").read())
else:
    composed()
    written()
json.dump(expected, open("expected.json", "w"))
