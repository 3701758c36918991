import Configuration

// Checks of option values.
extension CommandOption {
  /// Whether a word that follows the option is another option and not its value.
  func isOption(_ word: String) -> Bool {
    word.hasPrefix("-") && word != "-" && !(value == "N" && Int64(word) != nil)
  }

  /// The values in the given text, checked.
  ///
  /// - Parameter name: the option as it was written.
  func checked(_ text: String, as name: String) throws(CommandError) -> [String] {
    if takesPath && text.isEmpty {
      let what = value == "DIR" ? "folder" : "file"
      throw .usage("--\(self.name) is empty; name a \(what), or leave the option out")
    }
    if choices.isEmpty { return [text] }
    let words = takesSeveral ? text.split(separator: ",", omittingEmptySubsequences: false) : [text[...]]
    for word in words where !choices.contains(String(word)) {
      let all =
        takesSeveral ? "one or more of \(choices.joined(separator: ","))" : choices.joined(separator: " or ")
      throw .usage(
        "option '\(name)' is \(all), not '\(word)'" + Suggestion.remedy(for: String(word), among: choices))
    }
    return words.map(String.init)
  }
}
