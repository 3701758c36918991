import Foundation
import Glibc
import Testing

/// `sluice check`, and with it the checker that judges for the doors of clamd's clients.
struct CheckCommandTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private struct Record: Decodable {
    struct Reason: Decodable {
      var stage: String
      var code: String
      var message: String
    }
    struct Step: Decodable {
      var stage: String
      var verdict: String
      var milliseconds: Double
    }
    var record: String
    var file: String
    var verdict: String
    var mediaType: String?
    var sizeBytes: Int64?
    var sha256: String?
    var reason: Reason?
    var stages: [Step]
  }

  private func check(
    _ files: [String], _ options: String..., pipeline: String = ClamdDoor.judging, input: String = ""
  ) throws -> (outcome: SluiceCommand.Outcome, records: [Record]) {
    try folder.write("judge.yaml", pipeline)
    let outcome = try SluiceCommand.run(
      ["check", "--config", "judge.yaml", "--format", "json"] + options + files, in: folder, input: input,
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let records = try outcome.out.split(separator: "\n").map {
      try JSONDecoder().decode(Record.self, from: Data($0.utf8))
    }
    return (outcome, records)
  }

  private static func misbehave(_ more: String = "") -> String {
    "version: 1\nstages:\n  - use: misbehave\n    timeout: 1s\n\(more)"
  }

  @Test func filesWhoseNamesAreNotUTF8AreFound() throws {
    try folder.write("judge.yaml", ClamdDoor.judging)
    try folder.write("damaged.pdf", try Samples.data("damaged.pdf"))
    let script =
      "cd '\(folder.path)' && printf 'Dear Ben\\n' >\"$(printf 'a\\351.txt')\" && cp damaged.pdf \"$(printf 'a\\350.txt')\" && "
      + "'\(SluiceCommand.folder)/sluice' check --config judge.yaml --format json \"$(printf 'a\\351.txt')\" "
      + "\"$(printf 'a\\350.txt')\" >out"
    #expect(try FixtureStages.run("/bin/sh", ["-c", script]) == 1)
    let records = try folder.read("out").split(separator: "\n").map {
      try JSONDecoder().decode(Record.self, from: Data($0.utf8))
    }
    #expect(records.map(\.verdict) == ["clean", "found"])
    #expect(records.map(\.file) == ["a\u{FFFD}.txt", "a\u{FFFD}.txt"])
  }

  @Test func eachFileHasItsVerdictInItsOrder() throws {
    for name in ["report.pdf", "damaged.pdf", "photo.png"] { try folder.write(name, try Samples.data(name)) }
    try folder.write("a.txt", "Dear Ben, …\n")
    let files = ["a.txt", "damaged.pdf", "report.pdf", "nowhere", ".", "photo.png"]
    let (outcome, records) = try check(files)
    #expect(outcome.status == 1, "\(outcome.err)")
    #expect(records.map(\.file) == files && records.allSatisfy { $0.record == "check" })
    #expect(records.map(\.verdict) == ["clean", "found", "clean", "unknown", "unknown", "found"])
    #expect(records.map { $0.reason?.code }.prefix(3) == [nil, "pdf-damaged", nil])
    #expect(records[5].reason?.stage == "mime" && records[3].reason?.stage == "source")
    #expect(
      records[0].mediaType == "text/plain" && records[0].sizeBytes == 14 && records[0].sha256?.count == 64)
    #expect(records[2].stages.map(\.stage) == ["mime", "pdf"])
    // It keeps nothing, and makes no home.
    #expect(folder.files(below: ".") == ["a.txt", "damaged.pdf", "judge.yaml", "photo.png", "report.pdf"])
  }

  @Test func whereThereIsNoPipelineItSaysWhichOneJudges() throws {
    try folder.write("a.txt", "Dear Ben, …\n")
    let outcome = try SluiceCommand.run(["check", "a.txt"], in: folder)
    #expect(outcome.status == 0 && outcome.err.contains("the built-in pipeline judges"), "\(outcome)")
    #expect(try SluiceCommand.run(["check", "-q", "a.txt"], in: folder).err == "")
    try folder.write("pipeline.yaml", ClamdDoor.judging)
    #expect(try SluiceCommand.run(["check", "a.txt"], in: folder).err == "")
  }

  @Test func whereNothingJudgesItSaysSo() throws {
    let (outcome, records) = try check(
      ["judge.yaml"], pipeline: "version: 1\nstages: [{ use: store, options: { path: \"{sha256}\" } }]\n")
    #expect(records.map(\.verdict) == ["clean"])
    #expect(outcome.err.contains("no stage of judge.yaml judges"), "\(outcome.err)")
  }

  /// One that hangs is not tried again: the client waits, and it says nothing of the content.
  @Test func oneThatHangsIsNotDecidedUnlessThePipelineSaysSo() throws {
    try folder.write("a", "misbehave sleep\n")
    let (_, records) = try check(["a"], pipeline: Self.misbehave())
    #expect(records.map(\.verdict) == ["unknown"] && records[0].reason?.code == "timed-out")
    let (_, rejected) = try check(["a"], pipeline: Self.misbehave("    on-timeout: reject\n"))
    #expect(rejected.map(\.verdict) == ["found"] && rejected[0].reason?.code == "timed-out")
  }

  /// What is taken out of each lies in memory until all of it is answered, and has to be taken apart itself.
  @Test func contentsInsideContentsDoNotWaitForEachOther() throws {
    let script = """
      import zipfile
      large = b''.join(b'%d\\n' % n for n in range(5_000_000))
      with zipfile.ZipFile('inner.zip', 'w', zipfile.ZIP_DEFLATED, compresslevel=1) as inner:
        inner.writestr('large', large)
      for number in range(5):
        with zipfile.ZipFile('%d.zip' % number, 'w') as outer:
          outer.write('inner.zip')
          outer.writestr('large', b'%d' % number + large)
      """
    try #require(FixtureStages.run("/usr/bin/env", ["-C", folder.path, "python3", "-c", script]) == 0)
    try folder.write("small", "Dear Ben\n")
    let pipeline = """
      version: 1
      workers: 2
      memory-total: 150MB
      stages:
        - { use: mime, timeout: 20s }
        - { use: archive, output: 128MB, options: { max-bytes: 128MB } }

      """
    let files = (0..<5).map { "\($0).zip" } + ["small"]
    let (outcome, records) = try check(files, "--timeout", "100s", pipeline: pipeline)
    #expect(records.map(\.verdict) == Array(repeating: "clean", count: 6), "\(outcome)")
  }

  @Test func theExitCodeSaysWhatIsWorst() throws {
    try folder.write("judge.yaml", ClamdDoor.judging)
    try folder.write("a.txt", "Dear Ben, …\n")
    try folder.write("b.pdf", try Samples.data("damaged.pdf"))
    func run(_ words: String..., input: String = "") throws -> SluiceCommand.Outcome {
      try SluiceCommand.run(["check", "--config", "judge.yaml"] + words, in: folder, input: input)
    }
    let clean = try run("a.txt")
    #expect(clean.status == 0 && clean.out == "clean    a.txt  text/plain  14 B\n", "\(clean.out)")
    // To try again, as 75 asks for, would not help.
    for path in ["nowhere", "."] { #expect(try run("a.txt", path).status == 2, "\(path)") }
    #expect(try run("a.txt", "nowhere", "b.pdf").status == 1)
    let quiet = try run("-q", "a.txt", "b.pdf")
    #expect(quiet.status == 1 && quiet.out.hasPrefix("found    b.pdf  application/pdf  "), "\(quiet.out)")
    #expect(try run("-", input: "standard input\n").status == 0)
    #expect(try run().status == 2)
    #expect(try run("--timeout", "30", "a.txt").status == 2)
  }

  @Test func oneThatCrashesItsWorkersIsFoundAndItsNeighboursAreNot() throws {
    var files = ["bad"]
    try folder.write("bad", "misbehave segfault\n")
    for number in 0..<20 {
      try folder.write("good\(number)", "number \(number)\n")
      files.append("good\(number)")
    }
    let (outcome, records) = try check(files, pipeline: Self.misbehave())
    #expect(outcome.status == 1)
    #expect(records[0].verdict == "found" && records[0].reason?.code == "crashed", "\(outcome.out)")
    #expect(records.dropFirst().allSatisfy { $0.verdict == "clean" }, "\(outcome.out)")
  }

  /// What is tried again elsewhere is not decided here.
  @Test(arguments: [
    ("on-timeout: reject", "found", "timed-out"), ("on-timeout: hold", "found", "timed-out"),
    ("on-timeout: pass", "clean", ""),
  ])
  func aStageThatTakesTooLongIsAsThePipelineSays(remedy: String, verdict: String, code: String) throws {
    try folder.write("slow", "misbehave sleep\n")
    let (_, records) = try check(["slow"], pipeline: Self.misbehave("    \(remedy)\n"))
    #expect(records.map(\.verdict) == [verdict] && (records[0].reason?.code ?? "") == code)
  }

  @Test func whatIsNotDecidedInItsTimeIsUnknown() throws {
    try folder.write("slow", "misbehave sleep\n")
    let began = Date()
    let (outcome, records) = try check(
      ["slow"], "--timeout", "500ms",
      pipeline: Self.misbehave("").replacing("timeout: 1s", with: "timeout: 200s"))
    #expect(outcome.status == 75)
    #expect(records.map(\.verdict) == ["unknown"] && records[0].reason?.code == "too-late")
    #expect(Date().timeIntervalSince(began) < 100)
  }

  /// What was judged is not what there is now.
  @Test func contentThatChangesMeanwhileIsUnknown() throws {
    let path = try folder.write("slow", "misbehave sleep\n")
    let changing = Thread {
      for number in 0..<40 {
        usleep(50_000)
        let file = open(path, O_WRONLY | O_APPEND)
        _ = write(file, "\(number)", 1)
        close(file)
      }
    }
    changing.start()
    let (outcome, records) = try check(["slow"], pipeline: Self.misbehave("    on-timeout: pass\n"))
    #expect(records.map(\.verdict) == ["unknown"], "\(outcome.out)")
    #expect(outcome.status == 75)
  }

  /// Files beyond those under way at once find what was said of the first.
  @Test func equalContentIsAnsweredFromMemory() throws {
    for number in 0..<80 { try folder.write("\(number)/a.txt", "the same\n") }
    let (outcome, records) = try check((0..<80).map { "\($0)/a.txt" })
    #expect(outcome.status == 0 && records.count == 80)
    #expect(records.allSatisfy { $0.verdict == "clean" && $0.stages.map(\.stage) == ["mime"] })
    #expect(records[79].stages[0].milliseconds == 0 && records[0].stages[0].milliseconds > 0)
    // Another name may have another answer.
    try folder.write("b.txt", "the same\n")
    let (_, other) = try check(["0/a.txt", "b.txt"])
    #expect(other.allSatisfy { $0.stages[0].milliseconds > 0 })
  }

  /// The door says why, and judges once the stage opens.
  @Test func aPipelineThatCannotBeUsedIsToldAndUsedAgain() throws {
    let basis = folder.path + "/words"
    let door = try ClamdDoor(
      folder, judging: "version: 1\nstages: [{ use: oracle, options: { basis: \"\(basis)\" } }]\n",
      environment: ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()])
    let text = Array("Dear Ben, …\n".utf8)
    #expect(try door.verdict(text) == "stream: Sluice.check.pipeline: not decided. ERROR")
    #expect(door.served.errors.contains("contents cannot be checked: "))
    #expect(door.served.errors.contains("the file of `basis` cannot be read"), "\(door.served.errors)")
    try folder.write("words", "words\n")
    try Resident.wait("it judges", seconds: 5) { try door.verdict(text) == "stream: OK" }
    #expect(door.served.stop() == 0)
  }
}
