/// Environment variables in a value: `${NAME}`, `${NAME:-default}`, and `$$` for a dollar sign.
struct Substitution {
  let environment: [String: String]

  /// The text with its variables filled in, and its errors. As in a shell, the default applies if the
  /// variable is unset or empty.
  ///
  /// - Parameter limit: filling in stops after so many bytes; the caller refuses a longer text.
  func fill(_ text: String, limit: Int) -> (text: String, faults: [Fault]) {
    var filled = ""
    var faults: [Fault] = []
    var rest = Substring(text)
    while filled.utf8.count <= limit, let dollar = rest.firstIndex(of: "$") {
      filled += rest[..<dollar]
      rest = rest[rest.index(after: dollar)...]
      switch rest.first {
      case "$":
        filled += "$"
        rest = rest.dropFirst()
      case "{":
        guard let end = rest.firstIndex(of: "}") else {
          faults.append(
            Fault("\(quoted("$" + rest)) has no closing brace", "write '${NAME}', or '$$' for a dollar sign"))
          return (filled, faults)
        }
        switch value(of: rest[..<end].dropFirst()) {
        case .success(let value): filled += value
        case .failure(let fault): faults.append(fault)
        }
        rest = rest[rest.index(after: end)...]
      default:
        let name = rest.prefix { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
        let meant = name.first.map { !$0.isNumber } ?? false ? name : "NAME"
        faults.append(
          Fault("a '$' stands alone", "write '${\(meant)}' for a variable, or '$$' for a dollar sign"))
      }
    }
    return (filled + rest, faults)
  }

  /// - Parameter inside: the text between the braces.
  private func value(of inside: Substring) -> Result<String, Fault> {
    let name = inside.prefix { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
    let rest = inside[name.endIndex...]
    guard let first = name.first, !first.isNumber, rest.isEmpty || rest.hasPrefix(":-") else {
      return .failure(
        Fault("\(quoted("${\(inside)}")) does not name a variable", "write '${NAME}' or '${NAME:-default}'"))
    }
    let value = environment[String(name)]
    if rest.isEmpty {
      if let value { return .success(value) }
      var fault = Fault(
        "environment variable '\(name)' is not set", "set it, or give a default: '${\(name):-default}'")
      fault.isUnset = true
      return .failure(fault)
    }
    if let value, !value.isEmpty { return .success(value) }
    return .success(String(rest.dropFirst(2)))
  }
}
