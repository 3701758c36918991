import Foundation
import Testing

/// Stages in C that break the rules, compiled once for all tests.
enum FixtureStages {
  /// The folder with their libraries, for `SLUICE_PLUGIN_PATH`.
  static func folder() throws -> String { try made.get() }

  struct DoesNotCompile: Error {
    var name: String
  }

  private static let made = Result { try make() }

  private static func make() throws -> String {
    let folder = NSTemporaryDirectory() + "sluice-fixtures-\(getpid())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    atexit {
      try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "sluice-fixtures-\(getpid())")
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: sources) where name.hasSuffix(".c") {
      try compile(String(name.dropLast(2)), into: folder)
    }
    try Data("This is a text.\n".utf8).write(to: URL(fileURLWithPath: folder + "/libsluice-not-a-library.so"))
    return folder
  }

  private static let sources = SluiceCommand.projectFolder + "/Tests/Fixtures/Stages"

  /// Compiles one stage, and returns its library.
  @discardableResult
  static func compile(_ stage: String, into folder: String, _ flags: [String] = []) throws -> String {
    let library = "\(folder)/libsluice-\(stage).so"
    let status = try run(
      compiler,
      ["-shared", "-fPIC", "-O1", "-I", SluiceCommand.projectFolder + "/Sources/Contract/CStage/include"]
        + flags
        + ["\(sources)/\(stage).c", "-o", library])
    if status != 0 { throw DoesNotCompile(name: stage) }
    return library
  }

  /// Compiles the template of a stage in C with one place changed, as libsluice-greeting.so in a folder.
  static func brokenGreeting(
    in folder: TemporaryFolder, kind: String = "content", old: String, new: String, helpers: String = "",
    _ flags: [String] = ["-O1"]
  ) throws {
    let source = try String(
      contentsOfFile: SluiceCommand.projectFolder + "/Templates/c/\(kind)/greeting.c", encoding: .utf8)
    #expect(source.components(separatedBy: old).count == 2, "'\(old)' stands there once")
    let own = """
      #include <pthread.h>
      #include <time.h>
      static void *rest(void *nothing) { sleep(1000); return nothing; }
      __attribute__((unused)) static void start_thread(void) { pthread_t thread; pthread_create(&thread, NULL, rest, NULL); }

      """
    let broken = source.replacingOccurrences(of: old, with: new)
      .replacingOccurrences(
        of: "#include <sluice/stage.h>\n", with: "#include <sluice/stage.h>\n" + own + helpers)
    let file = try folder.write("greeting.c", broken)
    let status = try run(
      compiler,
      ["-shared", "-fPIC", "-w", "-I", SluiceCommand.projectFolder + "/Sources/Contract/CStage/include"]
        + flags + [file, "-o", folder.path + "/libsluice-greeting.so"])
    if status != 0 { throw DoesNotCompile(name: "greeting") }
  }

  /// What stands at the beginning of the template's `process`, to change it there.
  static let greetingProcess = "char start[4096], sentence[512];\n"

  /// clang comes with the Swift toolchain.
  static let compiler: String = {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let candidates: [String] = path.split(separator: ":").map { "\($0)/clang" }
    return candidates.first(where: FileManager.default.isExecutableFile(atPath:)) ?? "/usr/bin/cc"
  }()

  static func run(_ program: String, _ arguments: [String]) throws -> Int32 {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus
  }
}
