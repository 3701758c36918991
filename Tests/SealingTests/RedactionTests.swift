import Sealing
import Testing

struct RedactionTests {
  /// URLs, and what is shown of them.
  static let urls: [(String, String)] = [
    ("https://u:p@h.example/a/b?c=d", "https://h.example/…"),
    ("https://h.example", "https://h.example"),
    ("https://h.example/", "https://h.example/"),
    ("https://h.example/a", "https://h.example/…"),
    ("https://h.example?token=x", "https://h.example/…"),
    ("https://h.example#fragment", "https://h.example/…"),
    ("https://h.example/#", "https://h.example/…"),
    ("https://h.example:8443/a", "https://h.example:8443/…"),
    ("https://user@h.example", "https://h.example"),
    ("https://user:pass@h.example:8443", "https://h.example:8443"),
    ("https://u%40mail:p%2Fw@h.example/", "https://h.example/"),
    ("https://u:p@ss@h.example/a", "https://h.example/…"),
    ("https://user:12/34@h.example/a", "https://…"),
    ("https://token/x@h.example/a", "https://…"),
    ("https://h.example/@ann/1", "https://h.example/…"),
    ("https://user:pa/ss@h.example/a", "https://…"),
    ("http://[2001:db8::1]/a?b", "http://[2001:db8::1]/…"),
    ("http://[2001:db8::1]:8080", "http://[2001:db8::1]:8080"),
    ("http://u:p@[::1]:80/x", "http://[::1]:80/…"),
    ("http://[fe80::1%25eth0]/x", "http://[fe80::1%25eth0]/…"),
    ("http://[::1/x", "http://…"),
    ("http://192.0.2.7/%2e%2e/x", "http://192.0.2.7/…"),
    ("ftp://files.example/a;type=i", "ftp://files.example/…"),
    ("HTTPS://H.EXAMPLE/A", "HTTPS://H.EXAMPLE/…"),
    ("https://bücher.example/a", "https://bücher.example/…"),
    ("https://xn--bcher-kva.example", "https://xn--bcher-kva.example"),
    ("https://h.example\\@evil.example/a", "https://h.example/…"),
    ("https://secret%20token/a", "https://…"),
    ("https://two words/a", "https://…"),
    ("https://h.example/two words", "https://h.example/…"),
    ("  https://h.example/a \n", "https://h.example/…"),
    ("https:///a", "https://…"),
    ("https://", "https://…"),
    ("https://u:p@/a", "https://…"),
    ("https://h.example:secret/a", "https://…"),
    ("https://h.example/\u{301}a", "https://h.example/…"),
    ("https://u:p@h.example?next=https://other.example/b", "https://h.example/…"),
    ("h.example/a?b=c", "…"),
    ("user:pass@h.example/a", "…"),
    ("mailto:ann@example.org", "…"),
    ("data:text/plain;base64,c2VjcmV0", "…"),
    ("://h.example/a", "…"),
    ("1https://h.example/a", "…"),
    ("secret", "…"),
    ("", "…"),
  ]

  @Test(arguments: urls)
  func ofAURLSchemeAndHostStay(written: String, shown: String) {
    #expect(Redaction.url(written) == shown)
    #expect(Redaction.url(shown) == shown || shown.hasSuffix("…"), "and what is shown is shown again")
  }

  static let texts: [(String, String)] = [
    ("no URL: a//b, c:d", "no URL: a//b, c:d"),
    ("GET https://h.example/a?b=c: 403", "GET https://h.example/…: 403"),
    ("(https://u:p@h.example/a), then http://i.example.", "(https://h.example/…), then http://i.example."),
    ("'https://h.example/a'", "'https://h.example/…'"),
    ("<https://h.example/a>; rel=next", "<https://h.example/…>; rel=next"),
    ("\"https://h.example/a b\"", "\"https://h.example/… b\""),
    ("url=https://h.example/a", "url=https://h.example/…"),
    ("from https://a.example/x to https://b.example/y", "from https://a.example/… to https://b.example/…"),
    ("http://[::1]:80", "http://[::1]:80"),
    ("://x", "…"),
    ("ends with https://", "ends with https://…"),
    (
      "redirected to https://h.example/a?token=x\nthen ended", "redirected to https://h.example/…\nthen ended"
    ),
    ("grüße: https://h.example/ü, ja", "grüße: https://h.example/…, ja"),
  ]

  @Test(arguments: texts)
  func urlsInATextAreReduced(written: String, shown: String) {
    #expect(Redaction().text(written) == shown)
  }

  @Test func secretsAreTakenOut() {
    let redaction = Redaction([Secret("s3cr3t/key"), Secret("s3cr3t/key-longer"), Secret("abc"), Secret("")])
    #expect(!redaction.isEmpty)
    #expect(redaction.text("the key s3cr3t/key is wrong") == "the key «secret» is wrong")
    #expect(redaction.text("s3cr3t/key-longer and s3cr3t/keys3cr3t/key") == "«secret» and «secret»«secret»")
    #expect(redaction.text("q=s3cr3t%2Fkey&r=s3cr3t%2fkey") == "q=«secret»&r=«secret»")
    #expect(redaction.text("abc s3cr3t") == "abc s3cr3t", "what is too short to be a secret stays")
    #expect(redaction.text("https://s3cr3t/key@h.example/a") == "https://h.example/…")
    #expect(redaction.withoutSecrets("https://h.example/s3cr3t/key") == "https://h.example/«secret»")
    #expect(redaction.text("cut within: s3cr3t/k") == "cut within: «secret»")
    #expect(redaction.text("the same letters: s3cr3t") == "the same letters: s3cr3t")
    #expect(Redaction().isEmpty && Redaction([Secret("abc")]).isEmpty)
    #expect(Redaction().withoutSecrets("s3cr3t/key") == "s3cr3t/key")
  }

  /// Whatever is left out, no part of a user's name, password, path or query may stay.
  @Test func nothingSecretStaysInAnyURL() {
    for user in ["", "CANARY@", "CANARY:CANARY@", "CANARY:CAN@ARY@", "%43CANARY@", "CANARY:1/CANARY@"] {
      for host in ["h.example", "h.example:80", "[::1]", "[::1]:80"] {
        for rest in [
          "/CANARY", "?CANARY", "#CANARY", "/a/CANARY?CANARY#CANARY", "\\CANARY", "/CANARY@CANARY",
        ] {
          let url = "https://\(user)\(host)\(rest)"
          #expect(!Redaction.url(url).contains("CANARY"), "\(url)")
          #expect(!Redaction().text("see \(url).").contains("CANARY"), "\(url)")
        }
      }
    }
  }
}
