/// The script for zsh.
enum ZshCompletion {
  static func script(_ tree: CommandTree) -> String {
    var script = """
      #compdef sluice
      # Completes sluice in zsh; made by `sluice completions zsh`.
      _sluice() {
        local command=$words[2]
        local -a verbs
        if (( CURRENT == 2 )); then
          verbs=(\(list(tree.verbs)))
          _describe command verbs
          return
        fi
        shift words
        (( CURRENT-- ))

      """
    for group in tree.groups {
      script += """
          if [[ $command == \(group) ]]; then
            if (( CURRENT == 2 )); then
              verbs=(\(list(tree.following(group))))
              _describe command verbs
              return
            fi
            command="\(group) $words[2]"
            shift words
            (( CURRENT-- ))
          fi

        """
    }
    script += "  case $command in\n"
    for command in tree.commands {
      script += "    '\(command.name)') _arguments -s\(arguments(command)) ;;\n"
    }
    return script + """
        esac
      }
      if [[ $funcstack[1] == _sluice ]]; then _sluice "$@"; else compdef _sluice sluice; fi

      """
  }

  private static func list(_ words: [(word: String, help: String)]) -> String {
    words.map { quoted("\($0.word):\($0.help)") }.joined(separator: " ")
  }

  private static func arguments(_ command: CommandConfiguration) -> String {
    var specs: [String] = []
    for option in command.options + [.everywhere] {
      var end = "[\(escaped(option.help))]"
      if let value = option.value { end += ":\(escaped(value)):\(action(option))" }
      specs += option.spellings.map { quoted("*\($0)\(end)") }
    }
    if !command.argumentChoices.isEmpty {
      specs.append(quoted("1:word:(\(command.argumentChoices.joined(separator: " ")))"))
    } else if command.takesFiles {
      specs.append(quoted("*:file:_files"))
    }
    return specs.map { " \\\n        \($0)" }.joined()
  }

  private static func action(_ option: CommandOption) -> String {
    if option.takesPath { return "_files" }
    return option.choices.isEmpty ? " " : "(\(option.choices.joined(separator: " ")))"
  }

  /// For within a spec of `_arguments`.
  private static func escaped(_ text: String) -> String {
    text.map { "[]:\\".contains($0) ? "\\\($0)" : String($0) }.joined()
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
  }
}
