import Configuration
import Pipeline

// A small stand-in for swift-argument-parser, in its shape: commands declare their options once, and parsing,
// help, completions and suggestions come from the declaration.

/// The exit codes of sysexits.h that are used, and what they mean here.
enum ExitCode: Int32 {
  case success = 0
  /// Some attachment was rejected or failed, or some input could not be taken in.
  case incomplete = 1
  case usage = 2
  case internalError = 70
  /// Paused or interrupted: try again.
  case temporary = 75
  case configuration = 78
}

/// An error that ends a command: the text for the user and the exit code.
struct CommandError: Error {
  var exitCode: ExitCode
  /// One line each.
  var messages: [String]

  init(_ exitCode: ExitCode, _ message: String) {
    self.init(exitCode, [message])
  }

  init(_ exitCode: ExitCode, _ messages: [String]) {
    self.exitCode = exitCode
    self.messages = messages
  }

  static func usage(_ message: String) -> CommandError { CommandError(.usage, message) }
}

/// An option of a command, or a flag where it takes no value.
struct CommandOption {
  var name: String
  var letter: Character?
  /// What the value is called in the help; `nil`: a flag.
  var value: String?
  var help: String
  /// The values it takes, for completion and checking.
  var choices: [String] = []
  /// It may be given more than once; where it has choices, also several with commas. Of codes, see ``FilterOptions``.
  var takesSeveral = false

  static let config = CommandOption(
    name: "config", letter: "c", value: "FILE",
    help: "The pipeline; else ./pipeline.yaml, else /etc/sluice/pipeline.yaml.")
  static let trust = CommandOption(
    name: "trust", value: "PATH",
    help: "Use this pipeline, plugin or folder although others own it or may write to it; as $SLUICE_TRUST.",
    takesSeveral: true)
  static let home = CommandOption(
    name: "home", value: "DIR", help: "Where the state is; else $SLUICE_HOME, else ./var.")
  static let format = CommandOption(
    name: "format", value: "text|json", help: "For people, or a JSON object a line.",
    choices: ["text", "json"])
  static let quiet = CommandOption(name: "quiet", letter: "q", help: "Only results and errors.")
  static let verbose = CommandOption(
    name: "verbose", letter: "v",
    help: "A line for each attachment, also on a terminal; and what stages log of level info.")
  static let noColor = CommandOption(name: "no-color", help: "No colors, as with $NO_COLOR.")
}

/// A command's declaration.
struct CommandConfiguration {
  /// The words that call it: `stages run`.
  var name: String
  var abstract: String
  /// The arguments after the options: `PATH…`.
  var arguments = ""
  var discussion = ""
  var options: [CommandOption] = []
  var example: String
}

protocol ParsableCommand {
  static var configuration: CommandConfiguration { get }
  init(_ arguments: ParsedArguments) throws(CommandError)
  func run() throws -> ExitCode
}

/// A command line parsed by a command's declaration.
struct ParsedArguments {
  private(set) var words: [String] = []
  private var values: [String: [String]] = [:]
  private let command: String

  init(_ arguments: [String], for configuration: CommandConfiguration) throws(CommandError) {
    command = configuration.name
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      if argument == "--" {
        words += rest
        break
      }
      guard argument.hasPrefix("-"), argument != "-" else {
        words.append(argument)
        continue
      }
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      guard
        let option = configuration.options.first(where: {
          name == "--\($0.name)" || name == $0.letter.map { "-\($0)" }
        })
      else {
        throw .usage(
          "unknown option '\(name)' for `sluice \(command)`"
            + Suggestion.remedy(for: name, among: configuration.options.map { "--\($0.name)" }))
      }
      if !option.takesSeveral && values[option.name] != nil && option.value != nil {
        throw .usage("option '\(name)' is given twice; give it once")
      }
      guard let placeholder = option.value else {
        if parts.count > 1 { throw .usage("option '\(name)' takes no value") }
        values[option.name, default: []].append("")
        continue
      }
      let value: String
      if parts.count > 1 {
        value = String(parts[1])
      } else if let word = rest.popFirst() {
        if option.isOption(word) {
          throw .usage(
            "option '\(name)' needs a value: \(name) \(placeholder), and '\(word)' begins with a dash as options do; "
              + "for a value that begins so write '\(name)=\(word)'")
        }
        value = word
      } else {
        throw .usage("option '\(name)' needs a value: \(name) \(placeholder)")
      }
      // It would name another file: names of files to take in may be anything, and stand without an option.
      if !ArgumentBytes.isText(value) {
        throw .usage("the value of option '\(name)' is not UTF-8; give a link to it whose path is")
      }
      values[option.name, default: []] += try option.checked(value, as: name)
    }
    if configuration.arguments.contains("FILE") && words.contains("") {
      throw .usage("a FILE of `sluice \(command)` is empty; name a file")
    }
  }

  func flag(_ name: String) -> Bool { values[name] != nil }
  func value(_ name: String) -> String? { values[name]?.last }
  func values(_ name: String) -> [String] { values[name] ?? [] }

  func integer(_ name: String) throws(CommandError) -> Int64? {
    guard let text = value(name) else { return nil }
    guard let number = Int64(text) else {
      throw .usage("option '--\(name)' is a whole number, not '\(text)'")
    }
    return number
  }

  /// A duration such as `30s`, in milliseconds.
  func duration(_ name: String) throws(CommandError) -> Int64? {
    guard let text = value(name) else { return nil }
    guard let interval = Interval(text) else {
      throw .usage(
        "option '--\(name)' is a duration such as 30s, 5m or 2h, not '\(Terminal.printable(text))'; the longest is 36500d"
      )
    }
    return interval.milliseconds
  }

  var isJSON: Bool { value("format") == "json" }

  /// Refuses arguments, for commands that take none.
  func expectNoWords() throws(CommandError) {
    if let word = words.first {
      throw .usage(
        "`sluice \(command)` takes no '\(Terminal.printable(word))'; `sluice \(command) --help` shows what it takes"
      )
    }
  }
}

extension Suggestion {
  /// The end of a message: a suggestion of the word that was probably meant, or nothing.
  static func remedy(for word: String, among words: [String]) -> String {
    nearest(to: word, among: words).map { "; did you mean '\($0)'?" } ?? ""
  }
}
