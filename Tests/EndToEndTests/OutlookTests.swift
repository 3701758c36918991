import Foundation
import Testing

/// The mail stage and what Outlook packs into a `winmail.dat`.
struct OutlookTests {
  private typealias Piece = Printed.StageRun.Piece

  private struct Parts: Decodable {
    var children: [Piece]
    var derived: [Piece]
    var subject: String?
  }

  @Test func filesAndTextsAreThoseThatWerePacked() throws {
    let made = try MadeContents<Parts>("outlook.py")
    #expect(made.expected.count >= 15)
    for ((file, expected), run) in zip(made.expected, try made.run("mail")) {
      #expect(run.verdict == "pass", "\(file): \(run.message ?? "")")
      #expect(run.children ?? [] == expected.children, "\(file)")
      #expect(Set(run.derived ?? []) == Set(expected.derived), "\(file)")
      #expect(run.metadata["mail.subject"]?.asText == expected.subject, "\(file)")
    }
  }

  @Test func theFilesAreThoseThatAnotherReaderFinds() throws {
    let made = try MadeContents<Parts>("outlook.py")
    // It ends with an assertion, knows no code page, or writes another name.
    let different: Set = [
      "behind.tnef", "no-rend.tnef", "plain-rtf.tnef", "cyrillic.tnef", "narrow.tnef", "nested.tnef",
      "one.tnef", "twice.tnef", "odd-id.tnef", "odd-level.tnef", "two-texts.tnef",
      "no-interface.tnef", "interface.tnef", "lying-rtf.tnef",
    ]
    for (file, expected) in made.expected where !different.contains(file) {
      let folder = try TemporaryFolder()
      let outcome = try SluiceCommand.run(
        ["--ignore-checksum", "-C", folder.path, "\(made.folder.path)/\(file)"], in: made.folder,
        program: "/usr/bin/tnef")
      #expect(outcome.status == 0, "\(file): \(outcome.err)")
      let files = expected.children.filter { $0.name != "body.rtf" }
      #expect(Set(folder.files(below: ".")) == Set(files.map(\.name)), "\(file)")
      for piece in files {
        let data = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/" + piece.name))
        #expect(try Inbox.sha256(data) == piece.sha256, "\(file): \(piece.name)")
      }
    }
  }

  /// What is cut anywhere but behind an attribute is damaged.
  @Test func aCutOneIsDamaged() throws {
    let made = try MadeContents<Parts>("outlook.py")
    let whole = try Data(contentsOf: URL(fileURLWithPath: "\(made.folder.path)/twice.tnef"))
    var (ends, position): (Set<Int>, Int) = ([6], 6)
    while position < whole.count {
      position += 11 + Int(whole[position + 5]) + Int(whole[position + 6]) << 8
      ends.insert(position)
    }
    let counts = Array(4...whole.count)
    for count in counts { try made.folder.write("cut-\(count).tnef", whole.prefix(count)) }
    for (count, run) in zip(counts, try made.run("mail", [], counts.map { "cut-\($0).tnef" })) {
      #expect(run.code == (ends.contains(count) ? nil : "damaged"), "\(count) bytes")
    }
    #expect(ends.count == 9)
  }

  /// Bytes between two attributes hide what follows from no reader without being noticed.
  @Test(arguments: [[0], [1], [0x78], [7, 7, 7], Array(repeating: 9, count: 40)] as [[UInt8]])
  func whatIsNotUnderstoodIsDamaged(bytes: [UInt8]) throws {
    let made = try MadeContents<Parts>("outlook.py")
    let one = try Data(contentsOf: URL(fileURLWithPath: "\(made.folder.path)/data-first.tnef"))
    // Behind the first attribute, and behind all.
    for (number, place) in [31, one.count].enumerated() {
      try made.folder.write("\(number).tnef", one.prefix(place) + Data(bytes) + one.dropFirst(place))
    }
    let runs = try made.run("mail", [], ["0.tnef", "1.tnef"])
    #expect(runs[0].code == "damaged", "\(runs[0])")
    #expect(runs[1].code == (bytes == [0] ? nil : "damaged"), "\(runs[1])")
  }

  /// Values behind those that are counted, and texts that are packed in an unknown way.
  @Test func whatIsNotCountedOrKnownIsDamaged() throws {
    let made = try MadeContents<Parts>("outlook.py")
    for (file, replaced, by) in [
      ("same-texts.tnef", [0x01, 0, 0, 0, 0x1F, 0, 0, 0x10], [0x00, 0, 0, 0, 0x1F, 0, 0, 0x10]),
      ("rtf.tnef", Array("LZFu".utf8), Array("LZFx".utf8)),
    ] as [(String, [UInt8], [UInt8])] {
      var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(made.folder.path)/\(file)"))
      let place = try #require(bytes.range(of: Data(replaced)))
      bytes.replaceSubrange(place, with: by)
      try made.folder.write("changed.tnef", bytes)
      #expect(try made.run("mail", [], ["changed.tnef"]).map(\.code) == ["damaged"], "\(file)")
    }
  }

  /// Through the whole pipeline: the mail, the `winmail.dat` in it, and the file in that.
  @Test func aFileInAWinmailDatInAMailIsJudgedAsAnyOther() throws {
    let made = try MadeContents<Parts>("outlook.py")
    let packed = try Data(contentsOf: URL(fileURLWithPath: "\(made.folder.path)/nested.tnef"))
    let home = try TemporaryFolder()
    try home.write(
      "pipeline.yaml",
      """
      version: 1
      expand: { depth: 5 }
      stages: [{ use: mime }, { use: mail }, { use: store, options: { path: "{attachmentId}" } }]
      """)
    try home.write(
      "in/a.eml",
      "Subject: x\nContent-Type: application/ms-tnef; name=winmail.dat\nContent-Transfer-Encoding: base64\n\n"
        + packed.base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed]) + "\n")
    let outcome = try SluiceCommand.run(
      [
        "ingest", "--home", "h", "--config", "pipeline.yaml", "--conversation", "c", "--sender", "s",
        "--participants", "s,t", "in",
      ], in: home)
    #expect(outcome.status == 0, "\(outcome)")
    let listed = try SluiceCommand.run(["list", "--home", "h", "--format", "json"], in: home)
    for name in ["a.eml", "winmail.dat", "inner.tnef", "deep.txt"] {
      #expect(listed.out.contains("\"\(name)\""), "\(name) in \(listed.out)")
    }
  }
}
