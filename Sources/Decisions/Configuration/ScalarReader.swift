import Pipeline

/// Reads a single value by an option's kind, choices and range.
struct ScalarReader {
  let option: OptionDescription
  let subject: String

  init(_ option: OptionDescription, subject: String) {
    self.option = option
    self.subject = subject
  }

  func read(_ scalar: Scalar, key: String? = nil) -> Result<OptionValue, Fault> {
    let text = scalar.text
    let isOpaque = option.kind == .text && option.choices.isEmpty
    if scalar.isSecret && !isOpaque {
      return .failure(
        Fault(
          "\(subject) takes no secret from a file, for messages and the ledger show its value",
          "write the value here, or use a variable"))
    }
    // A quoted number is text (YAML 1.2.2, section 10.3.2); sizes and durations are texts in any case.
    let typed = [.integer, .number, .boolean].contains(option.kind)
    // In braces, a variable must be quoted: `{ max-pages: "${PAGES}" }`.
    guard scalar.isPlain || scalar.written != nil || !typed,
      var value = OptionValue(name: option.name, key: key, text: text, kind: option.kind)
    else { return .failure(misfit(scalar)) }
    if !option.choices.isEmpty, !option.choices.contains(text) {
      return .failure(
        Fault(
          "\(subject) knows no \(scalar.shown)",
          Suggestion.remedy(for: text, among: option.choices, called: "choices")))
    }
    if let range = option.range, isBounded, !range.contains(value.integer) {
      let fault = Fault(
        "\(subject) is \(scalar.bare), which is \(value.integer < range.lowerBound ? "too little" : "too much")",
        rangeRemedy)
      return .failure(fault)
    }
    // A text from a variable may be a secret: many are handed over that way.
    value.isSecret = isOpaque && scalar.written != nil
    return .success(value)
  }

  /// The error for a key without a value.
  func missing(_ scalar: Scalar) -> Fault {
    let remedy = "write a value such as \(example)" + (option.required ? "" : ", or leave it out")
    return Fault("\(subject) has no value\(scalar.origin)", remedy)
  }

  private var isBounded: Bool { [.integer, .bytes, .duration].contains(option.kind) }

  /// The allowed range, for a remedy.
  var rangeRemedy: String {
    guard let range = option.range, isBounded else { return "write a value such as \(example)" }
    if range.upperBound == .max { return "write a value of \(written(range.lowerBound)) or more" }
    if range.lowerBound == .min { return "write a value of \(written(range.upperBound)) or less" }
    return "write a value from \(written(range.lowerBound)) to \(written(range.upperBound))"
  }

  private func written(_ integer: Int64) -> String {
    switch option.kind {
    case .bytes: ByteSize.text(integer)
    case .duration: Interval.text(integer)
    default: String(integer)
    }
  }

  /// A value that would fit, for a remedy.
  var example: String {
    if let value = option.fallback, !value.isEmpty, !value.hasPrefix("[") { return value }
    if let choice = option.choices.first { return choice }
    switch option.kind {
    case .text: return "text"
    case .integer: return String(option.range?.lowerBound ?? 10)
    case .number: return "0.5"
    case .boolean: return "true"
    case .bytes: return "10MB"
    case .duration: return "30s"
    case .mediaType: return "application/pdf"
    case .template: return "documents/{attachmentId}.{extension}"
    case .channelName: return "events"
    case .file: return "events.jsonl"
    }
  }

  /// The example as it stands within braces.
  var quotedExample: String { option.kind == .template ? "\"\(example)\"" : example }
}
