import Foundation

/// Sluice as installed by `make install`, once for all tests, outside the build tree.
struct Installation {
  let prefix: String
  var program: String { prefix + "/bin/sluice" }

  static func shared() throws -> Installation { try made.get() }

  struct Problem: Error {
    var text: String
  }

  private static let made = Result { try make() }

  private static func make() throws -> Installation {
    let prefix = NSTemporaryDirectory() + "sluice-installed-\(getpid())"
    atexit {
      try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "sluice-installed-\(getpid())")
    }
    let folder = try TemporaryFolder()
    let outcome = try SluiceCommand.run(
      ["-C", SluiceCommand.projectFolder, "place", "PREFIX=\(prefix)", "BUILT=\(SluiceCommand.folder)"],
      in: folder, environment: ["PATH": path], program: "/usr/bin/make")
    if outcome.status != 0 { throw Problem(text: "make place: \(outcome.err)") }
    return Installation(prefix: prefix)
  }

  /// The search path for compilers.
  static let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"

  /// Runs the installed command in a folder.
  func run(_ arguments: [String], in folder: TemporaryFolder, below: String = "") throws
    -> SluiceCommand.Outcome
  {
    try SluiceCommand.run(arguments, in: folder, program: program, below: below)
  }

  /// Runs another program, which finds the installed command.
  func tool(
    _ program: String, _ arguments: [String], in folder: TemporaryFolder, below: String
  ) throws -> SluiceCommand.Outcome {
    let file = Self.path.split(separator: ":").map { "\($0)/\(program)" }.first(
      where: FileManager.default.isExecutableFile(atPath:))
    guard let file else { throw Problem(text: "there is no \(program) in \(Self.path)") }
    let home = ProcessInfo.processInfo.environment["HOME"] ?? "/root"
    return try SluiceCommand.run(
      arguments, in: folder, environment: ["PATH": "\(prefix)/bin:\(Self.path)", "HOME": home], program: file,
      below: below)
  }
}
