import Foundation
import Testing

/// The archive stage against other readers, and against archives made to harm.
struct ArchiveTests {
  private typealias Piece = Printed.StageRun.Piece

  @Test func theFilesOfEachFormatAreThoseOtherProgramsSee() throws {
    let made = try MadeContents<[Piece]>("archives.py")
    #expect(made.expected.count >= 35)
    for ((file, expected), run) in zip(made.expected, try made.run("archive", ["--set", "ratio=10000"])) {
      #expect(run.verdict == "pass", "\(file): \(run.message ?? "")")
      // 7z and ISO 9660 have an order of their own.
      #expect(sorted(run.children ?? []) == sorted(expected.map(\.short)), "\(file)")
      #expect(run.metadata["archive.files"]?.asInteger == expected.count, "\(file)")
      #expect(run.metadata["archive.bytes"]?.asInteger == expected.map(\.sizeBytes).reduce(0, +), "\(file)")
    }
  }

  private func sorted(_ pieces: [Piece]) -> [Piece] { pieces.sorted { $0.name < $1.name } }

  /// The code each must be rejected with; `nil`: it passes.
  @Test func anArchiveMadeToHarmStopsAtALimitAndSaysWhich() throws {
    let made = try MadeContents<String?>("bombs.py")
    #expect(made.expected.count >= 8)
    let options = [
      "ratio": "`ratio`", "too-large": "`max-entry-bytes`", "too-many-entries": "`max-entries`",
    ]
    let start = Date()
    for ((file, expected), run) in zip(made.expected, try made.run("archive")) {
      #expect(run.code == expected, "\(file): \(run.message ?? run.verdict)")
      if let expected, let option = options[expected] {
        #expect(run.message?.contains(option) == true, "\(file): \(run.message ?? "")")
      }
    }
    // Ten million entries would take minutes.
    #expect(Date().timeIntervalSince(start) < 120)
  }

  /// What each is found damaged of; `nil`: it passes.
  @Test(arguments: ["zips.py", "tars.py", "images.py"])
  func whatShowsOneProgramWhatItHidesFromAnotherIsDamaged(program: String) throws {
    let made = try MadeContents<String?>(program)
    #expect(made.expected.count >= 17)
    let kept = try made.run("archive", ["--set", "damaged=keep"])
    for (((file, fault), run), kept) in zip(zip(made.expected, try made.run("archive")), kept) {
      guard let fault else {
        #expect(run.verdict == "pass", "\(file): \(run.message ?? "")")
        #expect(run.metadata["archive.damaged"] == nil, "\(file)")
        continue
      }
      #expect(run.code == "damaged" && run.message?.contains(fault) == true, "\(file): \(run)")
      #expect(kept.verdict == "pass", "\(file): \(kept.message ?? "")")
    }
  }

  @Test func namesLeadNowhereAndAreTextAsFarAsTheyCanBe() throws {
    let made = try MadeContents<String?>("bombs.py")
    let before = try FileManager.default.contentsOfDirectory(atPath: made.folder.path).sorted()
    let runs = try made.run("archive", ["--set", "damaged=keep"], ["names.zip", "names.tar"])
    for run in runs {
      let names = run.children?.map(\.name) ?? []
      #expect(names.count >= 498, "\(names.count)")
      for name in [
        String(repeating: "../", count: 30) + "etc/passwd", "/etc/passwd", "..", "a\nb\r\tc",
        "\\xFF\\xFE\\xFD",
        "invoice\u{202E}fdp.exe", "\\xC0\\xAF", String(repeating: "x", count: 255),
      ] { #expect(names.contains(name), "\(name.debugDescription)") }
    }
    let after = try FileManager.default.contentsOfDirectory(atPath: made.folder.path).sorted()
    #expect(before == after)
  }

  @Test func whatIsSkippedOfACompressedTarCountsToo() throws {
    let made = try MadeContents<String?>("bombs.py")
    let run = try made.run("archive", ["--set", "only=none"], ["skipped.tar.gz"])
    #expect(run.first?.code == "ratio", "\(run)")
  }

  /// At each tenth of each format: a verdict that is known, and with `keep` never one of damage.
  @Test func aTruncatedArchiveIsDamagedAndNeverACrash() throws {
    let made = try MadeContents<[Piece]>("archives.py")
    var cut: [String] = []
    for (file, _) in made.expected {
      let whole = try Data(contentsOf: URL(fileURLWithPath: made.folder.path + "/" + file))
      for tenth in 0..<10 {
        cut.append("cut-\(tenth)-" + file)
        try made.folder.write("cut-\(tenth)-" + file, whole.prefix(whole.count * tenth / 10))
      }
    }
    var damaged = 0
    for run in try made.run("archive", ["--set", "ratio=10000"], cut) {
      #expect(
        run.verdict == "pass" || run.verdict == "reject" && ["damaged", "encrypted"].contains(run.code),
        "\(run.file): \(run.verdict) \(run.code ?? "") \(run.message ?? "")")
      if run.code == "damaged" { damaged += 1 }
    }
    #expect(damaged > cut.count / 2, "\(damaged) of \(cut.count)")
    for run in try made.run("archive", ["--set", "ratio=10000", "--set", "damaged=keep"], cut) {
      #expect(
        run.verdict == "pass" || run.code == "encrypted", "\(run.file): \(run.verdict) \(run.message ?? "")")
    }
  }

  /// A file of five bytes, which claims them. The host may give a reason of its own.
  @Test(arguments: ["archive", "mail"])
  func whereThePipelineTakesNothingOutNoSizeIsBlamed(stage: String) throws {
    let folder = try TemporaryFolder()
    let zip =
      "UEsDBBQAAAAAAMBLJVyGphA2BQAAAAUAAAAFAAAAYS50eHRoZWxsb1BLAQIUAxQAAAAAAMBLJVyGphA2BQAA"
      + "AAUAAAAFAAAAAAAAAAAAAACAAQAAAABhLnR4dFBLBQYAAAAAAQABADMAAAAoAAAAAAA="
    try folder.write("archive", try #require(Data(base64Encoded: zip)))
    try folder.write("mail", "Subject: x\nContent-Type: application/pdf\n\nhello")
    for (depth, status) in [(1, 0), (0, 1)] {
      try folder.write(
        "pipeline.yaml",
        "version: 1\nexpand: { depth: \(depth) }\nstages:\n  - { use: \(stage)\(stage == "mail" ? ", options: { all: true }" : "") }\n"
      )
      let outcome = try SluiceCommand.run(["check", "--config", "pipeline.yaml", stage], in: folder)
      #expect(outcome.status == status, "\(outcome.out)\(outcome.err)")
      let codes = ["too-many-entries", "too-many-parts", "too-deep"]
      #expect(depth == 1 || codes.contains { outcome.out.contains($0) }, "\(outcome.out)")
    }
  }

  @Test(.enabled(if: Corpus.isThere, Comment(rawValue: Corpus.skipped)))
  func zipsOfTheCorpusHoldWhatPythonFinds() throws {
    let files = try Corpus.entries().map(\.file).filter {
      try Data(contentsOf: URL(fileURLWithPath: $0), options: .alwaysMapped).starts(with: [0x50, 0x4B, 3, 4])
    }
    #expect(files.count >= 10)
    let made = try MadeContents<[Piece]>("archives.py", files)
    for ((file, expected), run) in zip(made.expected, try made.run("archive", ["--set", "ratio=10000"])) {
      #expect(run.verdict == "pass" && run.children ?? [] == expected.map(\.short), "\(file): \(run)")
    }
  }
}
