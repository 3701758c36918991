/// A program of any language that is a stage: what is started, and what it may.
public struct Program: Sendable, Equatable {
  /// The program's name or path, and its arguments. A name without `/` is looked for in `/usr/local/bin`, `/usr/bin` and `/bin`.
  public var command: [String]
  /// Where it runs, and where relative paths begin: the folder of its `stage.yaml`, or of the pipeline's file.
  public var folder: String
  /// Files and folders that it may read, beside the files that `command` names and where interpreters are installed.
  public var reads: [String] = []
  /// Processes and threads that it may have at once. One that has 1 may start threads but no process.
  public var processes = 1
  /// The largest content that it is given, in bytes: it gets a copy in memory.
  public var maxContent = Program.standardMaxContent

  public static let standardMaxContent: Int64 = 100 << 20

  /// The numbers that `processes` may be.
  public static let processLimits: ClosedRange<Int64> = 1...1000
  public static let maxContentLimits: ClosedRange<Int64> = 1...(4 << 30)

  /// The code for content that is larger than ``maxContent``.
  public static let tooLarge = "too-large"

  public init(command: [String], folder: String) {
    (self.command, self.folder) = (command, folder)
  }

  /// Where a word of the command is, if it names a file.
  public func path(of word: String) -> String { word.hasPrefix("/") ? word : "\(folder)/\(word)" }
}
