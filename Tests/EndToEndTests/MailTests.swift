import Foundation
import Testing

/// The mail stage against Python's reader, and against mails made to harm.
struct MailTests {
  private typealias Piece = Printed.StageRun.Piece

  private struct Parts: Decodable {
    var children: [Piece]
    var derived: [Piece]
  }

  @Test func textAndAttachmentsAreThoseThatPythonFinds() throws {
    let made = try MadeContents<Parts>("mails.py")
    #expect(made.expected.count >= 40)
    for ((file, expected), run) in zip(made.expected, try made.run("mail")) {
      #expect(run.verdict == "pass", "\(file): \(run.message ?? "")")
      #expect(run.children ?? [] == expected.children, "\(file)")
      #expect(Set(run.derived ?? []) == Set(expected.derived), "\(file)")
    }
  }

  @Test(.enabled(if: Corpus.isThere, Comment(rawValue: Corpus.skipped)))
  func mailsOfTheCorpusHoldWhatPythonFinds() throws {
    let files = try Corpus.entries().map(\.file).filter { $0.lowercased().hasSuffix(".eml") }
    let made = try MadeContents<Parts>("mails.py", files)
    if files.isEmpty { return }
    for ((file, expected), run) in zip(made.expected, try made.run("mail")) {
      #expect(run.children ?? [] == expected.children, "\(file): \(run)")
    }
  }

  /// glibc loads the converter of a charset from a file when it is first used, which the sandbox does not allow.
  @Test func everyCharsetOfTheSystemMayBeNamedInAHeader() throws {
    let folder = try TemporaryFolder()
    let list = try SluiceCommand.run(["-l"], in: folder, program: "/usr/bin/iconv").out
    let charsets = list.split(whereSeparator: \.isWhitespace).map { $0.split(separator: "/")[0] }
    #expect(charsets.count > 500)
    for (index, chunk) in stride(from: 0, to: charsets.count, by: 40).enumerated() {
      let some = charsets[chunk..<min(chunk + 40, charsets.count)]
      let addresses = some.map { "=?\($0)?Q?A=41?= <a@example.org>" }.joined(separator: ",\n ")
      let parts = some.map { "--b\nContent-Type: text/plain; charset=\"\($0)\"; name*=\($0)''A%41\n\nAA\n" }
      try folder.write(
        "\(index).eml",
        "To: \(addresses)\nContent-Type: multipart/mixed; boundary=b\n\n\(parts.joined())--b--\n")
      // The text of a mail goes another way than its headers.
      for (place, charset) in some.enumerated() {
        try folder.write("\(index)-\(place).eml", "Content-Type: text/plain; charset=\"\(charset)\"\n\nAA\n")
      }
    }
    let files = folder.files(below: ".").filter { $0.hasSuffix(".eml") }
    let runs = try SluiceCommand.run(["stages", "run", "mail", "--format", "json"] + files, in: folder)
      .every(Printed.StageRun.self)
    #expect(runs.count == files.count)
    for run in runs { #expect(run.verdict == "pass", "\(run.file): \(run.message ?? "")") }
  }

  @Test func aMailMadeToHarmIsBounded() throws {
    let folder = try TemporaryFolder()
    let mixed = "Content-Type: multipart/mixed; boundary=b\n\n"
    let base64 = "Content-Transfer-Encoding: base64\n\n"
    func times(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
    let deep = (0..<10_000).map { "Content-Type: multipart/mixed; boundary=b\($0)\n\n--b\($0)\n" }.joined()
    let mails: [(name: String, text: String, code: String?)] = [
      ("deep", deep + "\ntext\n", "too-deep"),
      ("many", mixed + times("--b\n\n", 1_000_000), "too-many-parts"),
      (
        "quoted", "Content-Type: multipart/mixed; boundary=\"b b\"\n\n" + times("--b b\n\n", 2000),
        "too-many-parts"
      ),
      ("subject", "Subject: " + times("=?utf-8?q?=C3=A4?= ", 500_000) + "\n\ntext\n", nil),
      ("long", "Subject: x\nX: " + times("x", 10_000_000) + "\n\ntext\n", nil),
      ("to", "Subject: x\nTo: " + times("a@example.org, ", 100_000) + "\n\ntext\n", nil),
      ("headers", times("A: b\n", 200_000) + "\ntext\n", nil),
      ("boundary", "Content-Type: multipart/mixed; boundary=\"\(times("x", 100_000))\"\n\n--x\n", "damaged"),
      ("padding", base64 + "YWI=\n" + times("QUJD", 2_000_000), "damaged"),
      ("unpadded", base64 + times("QUJD\n", 2_000_000) + "QQ", nil),
      ("spaces", base64 + "QQ==" + times(" \n", 4_000_000), nil),
      ("encoding", "Content-Transfer-Encoding: base64" + times("\n x", 500_000) + "\n\nQUJD\n", "damaged"),
      // Rulers of a text are no boundaries.
      ("rulers", "Subject: x\n\n" + times("------\n\n", 5000), nil),
      ("nothing", times("\0\u{1}", 5000), "damaged"),
    ]
    for mail in mails { try folder.write(mail.name + ".eml", mail.text) }
    let runs = try SluiceCommand.run(
      ["stages", "run", "mail", "--format", "json"] + mails.map { $0.name + ".eml" }, in: folder
    ).every(Printed.StageRun.self)
    #expect(runs.count == mails.count)
    for (mail, run) in zip(mails, runs) {
      #expect(run.code == mail.code, "\(mail.name): \(run.verdict) \(run.message ?? "")")
      for (key, value) in run.metadata { #expect((value.asText ?? "").utf8.count <= 2000, "\(key)") }
    }
  }

  /// The door gives no name, and the stage must know by that what comes through it.
  @Test func aMailThatComesThroughADoorIsOneWhateverLibmagicFinds() throws {
    let pipeline = """
      version: 1
      stages:
        - use: mime
        - use: mail
          options: { all: true }
        - use: pdf
          when: application/pdf
      """
    let door = try ClamdDoor(TemporaryFolder(), judging: pipeline)
    func mail(_ start: String, _ part: Data) -> Data {
      Data(
        "\(start)Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain; name=a.txt\n\na\n"
          .utf8)
        + Data("--b\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n".utf8)
        + Data(part.base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed]).utf8)
        + Data("\n--b--\n".utf8)
    }
    let (whole, damaged) = (try Samples.data("report.pdf"), try Samples.data("damaged.pdf"))
    #expect(try door.verdict(mail("Subject: x\n", whole)) == "stream: OK")
    for start in ["Subject: x\n", "Subject: x\nX: \0\n", "\u{FEFF}\r\nSubject: x\n"] {
      let verdict = try door.verdict(mail(start, damaged))
      #expect(verdict == "stream: Sluice.pdf.pdf-damaged FOUND", "\(start.debugDescription)")
    }
    #expect(try door.verdict(Data("hello\n".utf8)) == "stream: Sluice.mail.damaged FOUND")
  }

  /// What a mail shows first is judged decoded, as what is attached to it.
  @Test func theTextOfAMailThatComesThroughADoorIsJudged() throws {
    let pipeline = """
      version: 1
      stages:
        - use: mime
          options: { deny: [application/pdf] }
        - use: mail
          options: { all: true }
      """
    let door = try ClamdDoor(TemporaryFolder(), judging: pipeline)
    let pdf = try Samples.data("report.pdf").base64EncodedString(options: .lineLength76Characters)
    func part(_ type: String, _ encoded: String) -> String {
      "Content-Type: \(type)\nContent-Transfer-Encoding: base64\n\n\(encoded)\n"
    }
    let mixed = "Content-Type: multipart/mixed; boundary=b\n\n"
    let hidden = [
      part("text/plain", pdf), part("text/html", pdf), part("text/html; charset=utf-16", pdf),
      mixed + "--b\n" + part("text/plain", pdf) + "--b\n\nhello\n--b--\n",
      mixed + "--b\n\nhello\n--b\n" + part("text/html", pdf) + "--b--\n",
    ]
    for mail in hidden {
      let verdict = try door.verdict(Data("From: a@example.org\n\(mail)".utf8))
      #expect(verdict == "stream: Sluice.mime.type-not-allowed FOUND", "\(mail.prefix(120))")
    }
    let links = (1...20).map { "https://example.org/\($0)\n\n" }.joined()
    #expect(try door.verdict(Data("From: a@example.org\n\n\(links)".utf8)) == "stream: OK")
  }

  @Test func headersAreDecodedCleanedAndCut() throws {
    let folder = try TemporaryFolder()
    let subject = "=?utf-8?b?" + Data("a\u{0}b\u{1B}[2Jc\u{202E}".utf8).base64EncodedString() + "?="
    let to = (0..<80).map { "p\($0)@example.org" }.joined(separator: ", ")
    try folder.write(
      "a.eml",
      "Subject: \(subject)\nTo: \(to)\nCc: friends: a@example.org, b@example.org;\n"
        + "Date: Sat, 28 Feb 2026 23:30:00 -0730\nMessage-Id: <a@b>\n\ntext\n")
    let run = try SluiceCommand.run(["stages", "run", "mail", "a.eml", "--format", "json"], in: folder)
      .only(Printed.StageRun.self)
    #expect(run.metadata["mail.subject"]?.asText?.contains("\u{1B}") == false)
    #expect(run.metadata["mail.subject"]?.asText?.hasPrefix("a") == true)
    #expect(run.metadata["mail.to"]?.asText?.hasSuffix("p49@example.org") == true)
    #expect(run.metadata["mail.cc"]?.asText == "a@example.org, b@example.org")
    #expect(run.metadata["mail.date"]?.asText == "2026-02-28T23:30:00-07:30")
    #expect(run.metadata["mail.message-id"]?.asText == "a@b")
  }
}
