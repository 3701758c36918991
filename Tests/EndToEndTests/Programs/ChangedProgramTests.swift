import Foundation
import Testing

/// A program that is changed while it is at work, so that it does not open any more.
@Suite(.serialized)
struct ChangedProgramTests {
  @Test func oneThatDoesNotOpenAnyMoreStopsTheLaneAndNotTheCoordinator() throws {
    let folder = try TemporaryFolder()
    try ActsProgram.write(to: folder)
    try folder.write(
      "pipeline.yaml",
      Pipelines.storing("- { use: acts, on-crash: reject }")
        + "\nplugins: [stages]\nworkers: 1\n")
    try folder.write("first.txt", "well-behaved 1")
    try folder.write("bad.txt", "os._exit(1)")
    try folder.write("second.txt", "well-behaved 2")
    let resident = try Resident(folder)
    func enqueue(_ words: String...) throws -> Int32 {
      try SluiceCommand.run(["enqueue", "--home", "home"] + words, in: folder).status
    }
    #expect(try enqueue("--wait", "first.txt") == 0)
    let source = try folder.read("stages/acts/acts.py")
    try folder.write("stages/acts/acts.py", "def\n" + source)
    // It costs the worker its life, and the next one does not open.
    #expect(try enqueue("bad.txt", "second.txt") == 0)
    func status() throws -> String { try SluiceCommand.run(["status", "--home", "home"], in: folder).out }
    try Resident.wait("the lane stands, or the coordinator is gone") {
      try !resident.process.isRunning || status().contains("stage-not-opened")
    }
    #expect(resident.process.isRunning, "\(resident.errors)")
    let told = try status()
    #expect(told.contains("SyntaxError"), "\(told)")
    #expect(
      resident.errors.contains("stage 'acts': \(folder.path)/stages/acts/acts.py has changed"),
      "\(resident.errors)")
    try folder.write("stages/acts/acts.py", source)
    let resumed = try SluiceCommand.run(["resume", "attachments", "--home", "home"], in: folder)
    #expect(resumed.status == 0, "\(resumed.err)")
    try resident.wait(for: 3)
    #expect(resident.ended.map(\.status).sorted() == ["completed", "completed", "rejected"])
    #expect(resident.stop() == 0)
  }
}
