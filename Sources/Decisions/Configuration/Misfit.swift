import Pipeline

extension ScalarReader {
  /// The error for a value that does not fit.
  func misfit(_ scalar: Scalar) -> Fault {
    let text = scalar.text
    switch option.kind {
    case .integer, .number: return misfitNumber(scalar)
    case .boolean:
      if text == "true" || text == "false" { return inQuotes(scalar) }
      let meant = ["yes": "true", "on": "true", "no": "false", "off": "false"][text.lowercased()]
      let spelt = ["true", "false"].first { $0 == text.lowercased() }
      return Fault(
        "\(subject) wants true or false, not \(scalar.shown)", "write \(meant ?? spelt ?? "true or false")")
    case .bytes:
      return misfitQuantity(scalar, units: "B, KB, MB, GB, TB", readable: { ByteSize("1\($0)") != nil })
    case .duration:
      return misfitQuantity(scalar, units: "ms, s, m, h, d", readable: { Interval("1\($0)") != nil })
    case .mediaType:
      let remedy =
        option.shapes.contains(.list) && text.contains(",")
        ? "write a list: [\(printable(text))]" : Self.patternRemedy(text)
      return Fault("\(subject) wants a media type pattern, not \(scalar.shown)", remedy)
    case .template: return misfitTemplate(scalar)
    case .text, .channelName, .file: return Fault("\(subject) wants a text, not \(scalar.shown)")
    }
  }

  private func misfitNumber(_ scalar: Scalar) -> Fault {
    if OptionValue(name: "", text: scalar.text, kind: option.kind) != nil { return inQuotes(scalar) }
    if option.kind == .integer, isNumber(scalar.text) {
      return Fault("\(subject) is \(scalar.bare), which is more than can be counted", rangeRemedy)
    }
    let noun = option.kind == .integer ? "a whole number" : "a number"
    return Fault("\(subject) wants \(noun), not \(scalar.shown)", rangeRemedy)
  }

  private func inQuotes(_ scalar: Scalar) -> Fault {
    let noun =
      option.kind == .integer ? "a whole number" : option.kind == .number ? "a number" : "true or false"
    return Fault(
      "\(subject) wants \(noun), and \"\(printable(scalar.text))\"\(scalar.origin) in quotes is text",
      "write \(printable(scalar.written ?? scalar.text)) without quotes")
  }

  private func misfitQuantity(_ scalar: Scalar, units: String, readable: (Substring) -> Bool) -> Fault {
    let text = scalar.text
    let noun = option.kind == .bytes ? "a size" : "a duration"
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    if !digits.isEmpty, digits == text {
      return Fault(
        "\(subject) wants \(noun), and \(printable(text)) is a bare number", "write \(spellings(text))")
    }
    if !digits.isEmpty, readable(text[digits.endIndex...]) {
      return Fault("\(subject) is \(scalar.bare), which is more than can be counted", rangeRemedy)
    }
    return Fault(
      "\(subject) wants \(noun), not \(scalar.shown)",
      "write a whole number and a unit (\(units)), such as \(example)")
  }

  /// The ways to write what a bare number may mean.
  private func spellings(_ number: String) -> String {
    if option.kind == .duration { return "\(number)s for seconds or \(number)ms for milliseconds" }
    if let bytes = Int64(number) {
      let unit = ByteSize.text(bytes)
      if unit != "\(number)B" { return "\(unit) or \(number)B" }
    }
    return "\(number)MB for megabytes or \(number)B for bytes"
  }

  private func misfitTemplate(_ scalar: Scalar) -> Fault {
    let problem = PathTemplate.problem(in: scalar.text) ?? "cannot be read"
    // The problem repeats part of the template, and lists the allowed placeholders.
    let fault = "the path \(scalar.shown) of \(subject) \(printable(problem, longest: 400))"
    for part in scalar.text.split(separator: "{").dropFirst() {
      let name = String(part.prefix { $0 != "}" })
      if !PathTemplate.placeholders.contains(name) {
        return Fault(
          fault,
          Suggestion.nearest(to: name, among: PathTemplate.placeholders).map { "did you mean {\($0)}?" })
      }
    }
    return Fault(fault, "write a value such as \(example)")
  }

  static func patternRemedy(_ text: String) -> String {
    let types = ["application", "audio", "font", "image", "message", "model", "multipart", "text", "video"]
    if types.contains(text.lowercased()) { return "did you mean '\(text)/*'?" }
    return "write one such as application/pdf, \"image/*\" or \"*/*\""
  }

  private func isNumber(_ text: String) -> Bool {
    let digits = text.hasPrefix("-") || text.hasPrefix("+") ? text.dropFirst() : text[...]
    return !digits.isEmpty && digits.allSatisfy { $0.isASCII && $0.isNumber }
  }
}
