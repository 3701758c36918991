/// A text quoted for messages: on one line, without control characters, shortened if it is long.
func quoted(_ text: String) -> String {
  "'\(printable(text))'"
}

/// The same without the quotes.
func printable(_ text: String, longest: Int = 80) -> String {
  var shown = ""
  for (count, character) in text.unicodeScalars.enumerated() {
    if count == longest { return shown + "…" }
    switch character {
    case "\n": shown += "\\n"
    case "\t": shown += "\\t"
    default:
      // Controls would act on the terminal; the two separators and the bidirectional marks would reorder the
      // line.
      switch character.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        shown += "\\u{\(String(character.value, radix: 16))}"
      default: shown.unicodeScalars.append(character)
      }
    }
  }
  return shown
}
