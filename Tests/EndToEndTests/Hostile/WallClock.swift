import Foundation

/// The wall clock of processes started with its environment: `Tests/Fixtures/Preload/set-clock.c`.
final class WallClock {
  private let page: String
  private let descriptor: Int32

  init(_ folder: TemporaryFolder) throws {
    page = folder.path + "/.clock"
    try Data(count: 8).write(to: URL(fileURLWithPath: page))
    descriptor = open(page, O_RDWR | O_CLOEXEC)
  }

  deinit {
    close(descriptor)
  }

  /// Sets it this far ahead of the machine's clock.
  func set(hours: Double) {
    var milliseconds = Int64(hours * 3_600_000)
    pwrite(descriptor, &milliseconds, 8, 0)
  }

  func environment() throws -> [String: String] {
    ["LD_PRELOAD": try Self.library.get(), "CLOCK_PAGE": page]
  }

  private static let library = Result {
    let file = try FixtureStages.folder() + "/set-clock.so"
    let source = SluiceCommand.projectFolder + "/Tests/Fixtures/Preload/set-clock.c"
    let arguments = ["-shared", "-fPIC", "-O1", "-Wall", "-Werror", source, "-o", file]
    if try FixtureStages.run(FixtureStages.compiler, arguments) != 0 {
      throw FixtureStages.DoesNotCompile(name: "set-clock")
    }
    return file
  }
}
