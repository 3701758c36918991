import Foundation

/// The real binary.
struct SluiceCommand {
  /// The folder with `sluice`, its worker and its plugins: `$SLUICE_BIN_DIR`, else the release build.
  static let folder: String = {
    if let folder = ProcessInfo.processInfo.environment["SLUICE_BIN_DIR"] { return folder }
    return projectFolder + "/.build/release"
  }()

  static let projectFolder: String = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().path

  struct Outcome {
    var status: Int32
    /// It was ended by a signal, whose number `status` is.
    var wasKilled: Bool
    var out: String
    var err: String
  }

  /// How many seconds a command may take that is waited for.
  private static let longest = 240

  /// Runs a command to its end.
  ///
  /// - Parameters:
  ///   - program: another program than the one under test.
  ///   - below: the subfolder to run it in.
  ///   - witness: the witness that gets its output.
  @discardableResult
  static func run(
    _ arguments: [String], in folder: TemporaryFolder, input: String = "",
    environment: [String: String] = [:],
    program: String = Self.folder + "/sluice", below: String = "", witness: Witness? = nil
  ) throws -> Outcome {
    let out = folder.path + "/.out-\(UUID().uuidString)"
    let err = folder.path + "/.err-\(UUID().uuidString)"
    let recording = try witness?.record(to: out)
    let process = try start(
      arguments, in: folder, out: out, err: err, input: input, environment: environment, program: program,
      below: below, recording: recording)
    // One that never ends fails its test, and not the whole run.
    let end = DispatchWorkItem { [id = process.processIdentifier] in kill(id, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.longest), execute: end)
    process.waitUntilExit()
    end.cancel()
    recording?.end()
    defer {
      try? FileManager.default.removeItem(atPath: out)
      try? FileManager.default.removeItem(atPath: err)
    }
    return Outcome(
      status: process.terminationStatus, wasKilled: process.terminationReason == .uncaughtSignal,
      out: String(decoding: try Data(contentsOf: URL(fileURLWithPath: out)), as: UTF8.self),
      err: String(decoding: try Data(contentsOf: URL(fileURLWithPath: err)), as: UTF8.self))
  }

  /// The options of `make sanitize` for a binary built with a sanitizer.
  private static let sanitizerOptions = ProcessInfo.processInfo.environment.filter {
    $0.key.hasSuffix("SAN_OPTIONS")
  }

  /// Starts a command. Its output goes to files, so that no pipe fills up, or to a witness, which copies it
  /// there.
  static func start(
    _ arguments: [String], in folder: TemporaryFolder, out: String, err: String, input: String = "",
    environment: [String: String] = [:], program: String = Self.folder + "/sluice", below: String = "",
    recording: Witness.Recording? = nil
  ) throws -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments
    process.currentDirectoryURL = URL(fileURLWithPath: folder.path + "/" + below)
    process.environment = ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"].merging(sanitizerOptions) { $1 }
      .merging(environment) { $1 }
    for file in recording == nil ? [out, err] : [err] {
      _ = FileManager.default.createFile(atPath: file, contents: nil)
    }
    process.standardOutput = recording?.input ?? FileHandle(forWritingAtPath: out)
    process.standardError = FileHandle(forWritingAtPath: err)
    if input.isEmpty {
      process.standardInput = FileHandle.nullDevice
    } else {
      let pipe = Pipe()
      process.standardInput = pipe
      let data = Data(input.utf8)
      DispatchQueue.global().async {
        pipe.fileHandleForWriting.write(data)
        try? pipe.fileHandleForWriting.close()
      }
    }
    try process.run()
    try recording?.handOver()
    return process
  }
}
