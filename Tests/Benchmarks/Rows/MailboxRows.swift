import Glibc
import Platform

/// A mailbox taken in: each mail of it, its text and what is attached become objects. Beside mails.c, which does the same work with
/// GMime and nothing else.
enum MailboxRows {
  static func run(_ settings: Settings, _ ground: Ground, _ report: Report) {
    report.measure("mailboxes") {
      let mailbox = try MailFile(settings.size(20_000, quick: 4_000), on: ground)
      try Mails.build()
      let pipeline = try Sluice.pipeline(
        "mailbox", stages: ["use: mail", "use: store, options: { path: \"objects/{attachmentId}\" }"],
        channels: [])
      let name = "a mailbox, \(Table.number(Double(mailbox.mails))) mails"
      var comparison = Comparison(name, "plain C", mailbox.input)
      try comparison.run(settings, ground) {
        let child = try Sluice.start(pipeline, home: $0, [mailbox.path])
        let ending = try child.end(as: 0)
        try Sluice.expectCompleted(mailbox.mails + mailbox.attachments, child)
        try mailbox.expectStored($0)
        return ending
      } other: {
        try Mails.run(store: $0, mailbox)
      }
      let row = comparison.rate("mails/s", mailbox.mails, goal: 0.5)
      let killed = try self.killed(settings, ground, mailbox, pipeline)
      try mailbox.input.drop(ground)
      return [row, killed]
    }
  }

  /// The same, killed three times on the way.
  private static func killed(
    _ settings: Settings, _ ground: Ground, _ mailbox: MailFile, _ pipeline: String
  ) throws -> TableRow {
    var rates: [Double] = []
    var random = SplitMix(state: 5)
    for _ in 0..<settings.rounds(atMost: 3) {
      try ground.settle(reading: mailbox.input.folder)
      let home = ground.store("killed")
      let started = Clock.monotonic()
      for _ in 0..<3 {
        let child = try Sluice.start(pipeline, home: home, [mailbox.path])
        // Seconds in which a part is done, also of the least mailbox.
        if child.hasEnded(within: 0.2 + Double(random.next() % 400) / 1000) { break }
        child.signal(SIGKILL)
        _ = try child.end()
      }
      let child = try Sluice.start(pipeline, home: home, [mailbox.path])
      try child.end(as: 0)
      rates.append(Double(mailbox.mails) / (Double(Clock.monotonic() - started) / 1e9))
      try mailbox.expectStored(home)
    }
    return TableRow("a mailbox, with three kills", "mails/s", rates, goal: nil)
  }
}

/// A mailbox file of mails that programs might have written: a text, and one or two attachments in base64.
struct MailFile {
  let input: Input
  let path: String
  let mails: Int
  /// One and a half for each mail.
  let attachments: Int

  init(_ mails: Int, on ground: Ground) throws {
    self.mails = mails
    attachments = mails + (mails + 1) / 2
    let folder = ground.inputs + "/mailbox"
    try ground.needs(Int64(mails) * 120_000)
    progress("making a mailbox of \(mails) mails")
    try Files.makeFolder(folder)
    path = folder + "/inbox.mbox"
    var random = SplitMix(state: 17)
    let file = try Descriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
    var text: [UInt8] = []
    for mail in 0..<mails {
      text += Array(Self.head(mail).utf8)
      for number in 0...(mail % 2 == 0 ? 1 : 0) {
        let head = """

          --=-boundary
          Content-Type: application/octet-stream; name="file-\(mail)-\(number).bin"
          Content-Transfer-Encoding: base64
          Content-Disposition: attachment; filename="file-\(mail)-\(number).bin"


          """
        text += Array(head.utf8)
        Self.addBase64(1_000 + Int(random.next() % 23_000), &random, to: &text)
      }
      text += Array("\n--=-boundary--\n\n".utf8)
      if text.count > 1 << 20 || mail == mails - 1 {
        try Self.write(text, to: file.number)
        text.removeAll(keepingCapacity: true)
      }
    }
    var input = try Input(folder)
    input.count = mails
    self.input = input
  }

  private static func head(_ number: Int) -> String {
    let words = String(repeating: "Some words of a mail, as people write them to each other.\n", count: 12)
    return """
      From ann\(number % 50)@example.com Wed Nov 25 10:00:00 2026
      From: Ann \(number % 50) <ann\(number % 50)@example.com>
      To: Ben <ben@example.com>, Eva <eva@example.com>
      Subject: Mail number \(number)
      Message-ID: <\(number)@example.com>
      Date: Wed, 25 Nov 2026 10:00:00 +0000
      MIME-Version: 1.0
      Content-Type: multipart/mixed; boundary="=-boundary"

      --=-boundary
      Content-Type: text/plain; charset=utf-8

      Dear Ben,

      \(words)
      Mail \(number)

      """
  }

  /// Adds random bytes as lines of base64.
  private static func addBase64(_ count: Int, _ random: inout SplitMix, to text: inout [UInt8]) {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    for line in 0..<max(count / 57, 1) {
      if line > 0 { text.append(UInt8(ascii: "\n")) }
      for _ in 0..<76 / 10 + 1 {
        var bits = random.next()
        for _ in 0..<10 {
          text.append(letters[Int(bits & 63)])
          bits >>= 6
        }
      }
      text.removeLast(4)
    }
  }

  private static func write(_ bytes: [UInt8], to file: Int32) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
      if count < 0 { throw SystemError("writing a mailbox") }
      rest = rest.dropFirst(count)
    }
  }

  /// Checks that each mail, each attachment and each text is there once.
  func expectStored(_ home: String) throws {
    var counts = [0, 0]
    for (index, folder) in ["objects", "derived"].enumerated() {
      try Files.walk("\(home)/store/\(folder)") { _, _ in counts[index] += 1 }
    }
    guard counts == [mails + attachments, mails] else {
      throw BenchError("\(home) holds \(counts[0]) objects and \(counts[1]) texts: not what it was given")
    }
    let rows = try Sluice.ledger(home).prepare("SELECT count(*), count(DISTINCT sha256) FROM attachments")
      .first { ($0.integer(0), $0.integer(1)) }
    guard let rows, rows == (Int64(mails + attachments), Int64(mails + attachments)) else {
      throw BenchError("\(home) has other attachments than the \(mails + attachments) that came")
    }
  }
}

/// The reference program in C: see mails.c.
enum Mails {
  private static let program = Ground.path + "/mails"

  static func build() throws {
    let compiler = Settings.environment["CC"] ?? "clang"
    let script = """
      \(compiler) -std=c11 -O2 -Wall -Wextra "$1" -o "$2" $(pkg-config --cflags --libs gmime-3.0 libcrypto)
      """
    try Child(
      ["/bin/sh", "-c", script, "sh", Settings.benchmarks + "/mails.c", program], out: Ground.output("clang")
    ).end(as: 0)
  }

  static func run(store: String, _ mailbox: MailFile) throws -> Ending {
    let child = try Child(
      [program, "--store", store, "--mailbox", mailbox.path], out: Ground.output("mails"))
    let ending = try child.end(as: 0)
    let summary = try Files.text(child.out)
    for (key, value) in [
      ("mails", mailbox.mails), ("texts", mailbox.mails), ("attachments", mailbox.attachments),
    ] where !summary.contains("\"\(key)\":\(value),") {
      throw BenchError("mails reports other work than \(key) \(value): \(summary)")
    }
    return ending
  }
}
