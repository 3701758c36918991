import Foundation
import Testing

/// The file of a `jsonl` channel, replaced by a person while a coordinator writes to it.
struct ReplacedFileTests {
  @Test(arguments: [false, true])
  func eventsGoToTheFileThatIsThere(isDeleted: Bool) throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.open)
    try folder.write("in/a.txt", "one text\n")
    try folder.write("in/b.txt", "another text\n")
    func enqueue(_ name: String) throws {
      let outcome = try SluiceCommand.run(
        ["enqueue", "--home", "home", "--sender", "ann", "--participants", "ann,ben", "in/\(name)"],
        in: folder)
      try #require(outcome.status == 0, "\(outcome.err)")
    }
    let events = folder.path + "/home/events.jsonl"
    let resident = try Resident(folder)
    try enqueue("a.txt")
    try Resident.wait("the first is told") { try folder.read("home/events.jsonl").contains("a.txt") }
    if isDeleted {
      try FileManager.default.removeItem(atPath: events)
    } else {
      try folder.write("edited", "{\"id\":\"edited\"}\n")
      try #require(rename(folder.path + "/edited", events) == 0)
    }
    try enqueue("b.txt")
    try Resident.wait("the second is told") {
      ((try? folder.read("home/events.jsonl")) ?? "").contains("b.txt")
    }
    #expect(resident.stop() == 0, "\(resident.errors)")
    let lines = try folder.read("home/events.jsonl").split(separator: "\n")
    #expect(lines.count == (isDeleted ? 1 : 2), "each event once: \(lines)")
  }
}
