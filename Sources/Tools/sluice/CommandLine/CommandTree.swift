/// The commands as completion scripts need them: first words, and second words where a command has them.
struct CommandTree {
  let commands: [CommandConfiguration]

  init(_ commands: [CommandConfiguration]) {
    self.commands = commands
  }

  /// The first words with what they do, each once.
  var verbs: [(word: String, help: String)] {
    var verbs: [(word: String, help: String)] = []
    for command in commands {
      let words = command.name.split(separator: " ").map(String.init)
      if verbs.contains(where: { $0.word == words[0] }) { continue }
      let following = following(words[0])
      let help = following.isEmpty ? command.abstract : following.map(\.word).joined(separator: ", ")
      verbs.append((words[0], help))
    }
    return verbs
  }

  /// The first words that need a second.
  var groups: [String] { verbs.map(\.word).filter { !following($0).isEmpty } }

  /// The words that may follow a first one.
  func following(_ verb: String) -> [(word: String, help: String)] {
    commands.compactMap { command in
      let words = command.name.split(separator: " ").map(String.init)
      return words.count == 2 && words[0] == verb ? (words[1], command.abstract) : nil
    }
  }
}

extension CommandConfiguration {
  /// The words allowed as arguments, if the declaration lists them: `bash|zsh|fish`.
  var argumentChoices: [String] {
    arguments.contains("|") ? arguments.split(separator: "|").map(String.init) : []
  }

  /// Whether files may be among its arguments.
  var takesFiles: Bool { arguments.contains("FILE") || arguments.contains("PATH") }
}

extension CommandOption {
  /// Whether its value is a path.
  var takesPath: Bool { value == "FILE" || value == "DIR" }

  /// The ways to write it.
  var spellings: [String] { ["--\(name)"] + (letter.map { ["-\($0)"] } ?? []) }

  static let everywhere = CommandOption(name: "help", letter: "h", help: "Show options and an example.")
}
