import Foundation

/// A process that must not be touched, and that reports whether it was: `Tests/Fixtures/Canary/canary.c`.
final class Canary {
  /// The address and size of its writable memory.
  let buffer: UInt
  let pid: Int32
  static let size = 512
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  /// - Parameters:
  ///   - user: the owner of the process; `nil`: this process's.
  ///   - folder: its working folder; the file `secret` there is its descriptor 8.
  init(user: UInt32?, in folder: String, environment: [String: String]) throws {
    let command = User.command(user, ["/bin/sh", "-c", "exec 8<secret; exec \"$0\"", try Self.program.get()])
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.currentDirectoryURL = URL(fileURLWithPath: folder)
    process.environment = environment
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let words = line.split(whereSeparator: \.isWhitespace)
    guard words.count == 2, let pid = Int32(words[0]), let buffer = UInt(words[1]) else {
      throw Silent(line: line)
    }
    self.pid = pid
    self.buffer = buffer
  }

  struct Silent: Error {
    var line: String
  }

  /// Ends it, and returns its report: `byte N`, `signal N`, `limit`, or that it had ended before.
  func report() throws -> [String] {
    guard process.isRunning else { return ["ended"] }
    try input.fileHandleForWriting.close()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.split(separator: "\n").map(String.init) + (process.terminationStatus == 0 ? [] : ["ended"])
  }

  private static let program = Result {
    let file = try FixtureStages.folder() + "/canary"
    let source = SluiceCommand.projectFolder + "/Tests/Fixtures/Canary/canary.c"
    if try FixtureStages.run(FixtureStages.compiler, ["-O1", source, "-o", file]) != 0 {
      throw FixtureStages.DoesNotCompile(name: "canary")
    }
    return file
  }
}

/// A user to run as.
enum User {
  /// A user without files and processes.
  static let ordinary: UInt32 = 61_234

  /// The command line that runs a command as a user; `nil`: as this process's.
  static func command(_ user: UInt32?, _ words: [String]) -> [String] {
    guard let user else { return words }
    return ["/usr/bin/setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups", "--"] + words
  }
}
