import Pipeline
import Platform
import Testing

@testable import Scheduler

/// A program whose files are changed while workers start is told of, once for each change.
struct ProgramChangesTests {
  private final class Disk {
    var files: [String: FileStamp] = [:]
  }

  private static let script = "/stages/acts/acts.py"

  private static func stage(_ program: Program?) -> StageDefinition {
    var description = StageDescription(id: "acts", version: "1", summary: "", file: "")
    description.program = program
    return StageDefinition(id: "first", description: description, values: [])
  }

  private static func stamp(changed: Int64) -> FileStamp {
    FileStamp(device: 1, inode: 2, size: 3, modified: 4, changed: changed)
  }

  @Test func eachChangeIsToldOnce() {
    let disk = Disk()
    disk.files[Self.script] = Self.stamp(changed: 1)
    let stages = [Self.stage(Program(command: ["python3", "acts.py"], folder: "/stages/acts"))]
    var changes = ProgramChanges(stages) { _ in disk.files }
    #expect(changes.look(at: stages) == [])
    disk.files[Self.script] = Self.stamp(changed: 2)
    let told = changes.look(at: stages)
    #expect(told.count == 1 && told[0].hasPrefix("stage 'first': \(Self.script) has changed"), "\(told)")
    #expect(changes.look(at: stages) == [])
    disk.files[Self.script] = nil
    #expect(changes.look(at: stages).count == 1, "it is gone")
  }

  @Test func aPluginThatIsBuiltAnewIsToldToo() {
    let disk = Disk()
    disk.files["/stages/acts.so"] = Self.stamp(changed: 1)
    let stages = [Self.stage(nil)]
    var changes = ProgramChanges(stages) { _ in disk.files }
    #expect(changes.look(at: stages) == [])
    disk.files["/stages/acts.so"] = Self.stamp(changed: 2)
    #expect(changes.look(at: stages).first?.hasPrefix("stage 'first': /stages/acts.so has changed") == true)
  }
}
