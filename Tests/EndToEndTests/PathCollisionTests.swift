import Foundation
import Testing

/// Attachments that want the same path, or paths that exclude each other: one of them gets it, the others are
/// reported, and the home keeps working.
@Suite(.serialized)
struct PathCollisionTests {
  private func folder(template: String) throws -> TemporaryFolder {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing(path: template))
    return folder
  }

  private func ingest(_ manifest: [String], in folder: TemporaryFolder) throws -> [Printed.Attachment] {
    try folder.write("list.jsonl", manifest.joined(separator: "\n"))
    let run = try SluiceCommand.run(
      ["ingest", "--home", "var", "--format", "json", "--manifest", "list.jsonl"], in: folder)
    #expect(run.status == 0 || run.status == 1, "\(run.err)")
    try #require(run.attachments.count == manifest.count, "\(run.err)")
    let again = try SluiceCommand.run(["ingest", "--home", "var", "--manifest", "list.jsonl"], in: folder)
    #expect(again.status == run.status, "the home goes on working: \(again.err)")
    return run.attachments
  }

  @Test func equalContentAtOnePathIsOneObject() throws {
    let folder = try folder(template: "{messageId}/document.{extension}")
    for name in ["a", "b", "c"] { try folder.write(name, "the same\n") }
    let records = try ingest(
      [
        #"{"path":"a","messageId":"m1"}"#, #"{"path":"b","messageId":"m2"}"#,
        #"{"path":"c","messageId":"m2"}"#,
      ], in: folder)
    #expect(records.allSatisfy { $0.isCompleted })
    #expect(folder.files(below: "var/store") == ["m1/document.txt", "m2/document.txt"])
  }

  @Test func differentContentAtOnePathIsRefusedButForOne() throws {
    let folder = try folder(template: "{messageId}/document.{extension}")
    var lines: [String] = []
    for index in 0..<400 {
      try folder.write("in/\(index)", "number \(index)\n")
      lines.append(#"{"path":"in/\#(index)","messageId":"m\#(index / 2)"}"#)
    }
    let records = try ingest(lines, in: folder)
    #expect(records.count { $0.isCompleted } == 200)
    #expect(records.count { $0.code == "path-taken" } == 200)
    #expect(folder.files(below: "var/store").count == 200)
  }

  /// The pipelines that users begin with: each has a path for every attachment of a message.
  @Test(arguments: ["pipeline.yaml", "README.md", "docs/pipeline.md", "Packaging/pipeline.yaml"])
  func twoPDFsOfOneMessageComplete(source: String) throws {
    let file = SluiceCommand.projectFolder + "/" + source
    var pipeline = try String(contentsOfFile: file, encoding: .utf8)
    if source.hasSuffix(".md") {
      let block = try #require(pipeline.firstMatch(of: /(?s)```yaml\n(version: 1\n.*?)```/))
      pipeline = block.output.1.replacingOccurrences(of: "max-page:", with: "max-pages:")
    }
    let folder = try TemporaryFolder()
    try folder.write(
      "pipeline.yaml", pipeline.replacingOccurrences(of: "/var/lib/sluice/events.jsonl", with: "events.jsonl")
    )
    let report = try Samples.data("report.pdf")
    try folder.write("a.pdf", report)
    try folder.write("b.pdf", report + Data("% another copy\n".utf8))
    let records = try ingest(
      [#"{"path":"a.pdf","messageId":"m1"}"#, #"{"path":"b.pdf","messageId":"m1"}"#], in: folder)
    #expect(records.allSatisfy { $0.isCompleted }, "\(records)")
    #expect(folder.files(below: "var/store/documents").count == 2)
  }

  @Test func aPathBelowAnothersObjectIsRefused() throws {
    let folder = try folder(template: "{fileName}")
    try folder.write("a", "first\n")
    #expect(try ingest([#"{"path":"a","fileName":"boss"}"#], in: folder)[0].isCompleted)
    try folder.write(
      "pipeline.yaml",
      folder.read("pipeline.yaml").replacingOccurrences(of: "{fileName}", with: "boss/{fileName}"))
    try folder.write("b", "second\n")
    #expect(try ingest([#"{"path":"b","fileName":"z"}"#], in: folder)[0].code == "path-taken")
  }

  /// The path is the lost object's for as long as its attachment is on record.
  @Test func thePathOfALostObjectIsRefused() throws {
    let folder = try folder(template: "{fileName}")
    try folder.write("a", "first\n")
    #expect(try ingest([#"{"path":"a","fileName":"one"}"#], in: folder)[0].isCompleted)
    try FileManager.default.removeItem(atPath: folder.path + "/var/store/one")
    try folder.write("b", "second\n")
    try folder.write("list.jsonl", #"{"path":"b","fileName":"one"}"#)
    let run = try SluiceCommand.run(
      ["ingest", "--home", "var", "--format", "json", "--manifest", "list.jsonl"], in: folder)
    #expect(run.status == 1, "\(run.err)")
    #expect(run.attachments.first?.code == "path-taken", "\(run.out)")
    // Once it is there again, nothing is left to say.
    #expect(try SluiceCommand.run(["verify", "--home", "var", "--repair"], in: folder).status == 0)
    #expect(
      try SluiceCommand.run(["ingest", "--home", "var", "--manifest", "/dev/null"], in: folder).status == 0)
    #expect(try folder.read("var/store/one") == "first\n")
    try folder.write("c", "first\n")
    #expect(
      try ingest([#"{"path":"c","fileName":"one"}"#], in: folder)[0].isCompleted, "the same content shares it"
    )
  }

  @Test func aDateFarAwayIsADateLikeAnyOther() throws {
    let folder = try folder(template: "{attachmentId}")
    let file = try folder.write("a", "from the future\n")
    var times = [timespec(tv_sec: 10_413_792_000, tv_nsec: 0), timespec(tv_sec: 10_413_792_000, tv_nsec: 0)]
    try #require(utimensat(AT_FDCWD, file, &times, 0) == 0)
    #expect(try ingest([#"{"path":"a"}"#], in: folder)[0].isCompleted)
  }

  @Test func whatIsTooLongForAWorkerIsRefusedAtTheDoor() throws {
    let folder = try folder(template: "{attachmentId}")
    try folder.write("a", "text\n")
    let long = String(repeating: "x", count: 400_000)
    try folder.write("list.jsonl", #"{"path":"a","declaredType":"\#(long)"}"#)
    let run = try SluiceCommand.run(["ingest", "--home", "var", "--manifest", "list.jsonl"], in: folder)
    #expect(run.status == 1)
    #expect(run.err.hasPrefix("sluice: list.jsonl:1: 'declaredType' has 400000 bytes"))
  }

  @Test func everyFileOfManySmallBatchesIsWorkedOn() throws {
    let folder = try folder(template: "{attachmentId}")
    var lines: [String] = []
    for index in 0..<510 {
      try folder.write("in/\(index)", "number \(index)\n")
      lines.append(#"{"path":"in/\#(index)"}"#)
    }
    #expect(try ingest(lines, in: folder).count { $0.isCompleted } == 510)
  }
}
