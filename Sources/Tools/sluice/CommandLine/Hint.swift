/// Commands in messages, ready to paste: they name the home where the user has named it by an option.
struct Hint {
  /// As it was given with `--home`; `nil`: it was not.
  private let home: String?

  init(_ arguments: ParsedArguments) {
    home = arguments.value("home")
  }

  /// A command with its words: `sluice retry 01981c2f --home /data`, in backquotes.
  func callAsFunction(_ words: String...) -> String {
    "`sluice \(words.joined(separator: " "))\(option)`"
  }

  private var option: String {
    guard let home else { return "" }
    // A word that begins with a dash would be taken for an option.
    return (home.hasPrefix("-") ? " --home=" : " --home ") + ShellWord.of(home)
  }
}
