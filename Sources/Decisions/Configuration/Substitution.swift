import Platform

/// What is filled in in a value: environment variables as `${NAME}` and `${NAME:-default}`, secrets from files as
/// `${file:/path}`, and `$$` for a dollar sign.
struct Substitution: Sendable {
  let environment: [String: String]
  /// Relative paths of secrets are taken from here: empty, or with a slash at its end.
  var folder = ""
  /// Reads the file of a secret.
  var secretFile: @Sendable (String) -> Result<[UInt8], ProtectedFile.Problem> = { Self.unread($0) }

  /// A value with all that was filled in.
  struct Filled {
    var text = ""
    var faults: [Fault] = []
    /// A part of it comes from a file.
    var isSecret = false
  }

  /// The text with its variables filled in, and its errors. As in a shell, the default applies if the
  /// variable is unset or empty.
  ///
  /// - Parameter limit: filling in stops after so many bytes; the caller refuses a longer text.
  func fill(_ text: String, limit: Int) -> Filled {
    var filled = Filled()
    var rest = Substring(text)
    while filled.text.utf8.count <= limit, let dollar = rest.firstIndex(of: "$") {
      filled.text += rest[..<dollar]
      rest = rest[rest.index(after: dollar)...]
      switch rest.first {
      case "$":
        filled.text += "$"
        rest = rest.dropFirst()
      case "{":
        guard let end = rest.firstIndex(of: "}") else {
          filled.faults.append(
            Fault("\(quoted("$" + rest)) has no closing brace", "write '${NAME}', or '$$' for a dollar sign"))
          return filled
        }
        let inside = rest[..<end].dropFirst()
        let path = Self.path(inside)
        switch path.map(secret) ?? value(of: inside) {
        case .success(let value): filled.text += value
        case .failure(let fault): filled.faults.append(fault)
        }
        if path != nil { filled.isSecret = true }
        rest = rest[rest.index(after: end)...]
      default:
        let name = rest.prefix { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
        let meant = name.first.map { !$0.isNumber } ?? false ? name : "NAME"
        filled.faults.append(
          Fault("a '$' stands alone", "write '${\(meant)}' for a variable, or '$$' for a dollar sign"))
      }
    }
    filled.text += rest
    return filled
  }

  // MARK: Secrets

  /// The longest secret, in bytes.
  static let secretLimit = 64 << 10

  /// The path after `file:`; `nil`: a variable is meant, which may be called `file` and have a default.
  private static func path(_ inside: Substring) -> Substring? {
    inside.hasPrefix("file:") && !inside.hasPrefix("file:-") ? inside.dropFirst("file:".count) : nil
  }

  /// The text in a file, without the newline at its end. No fault has any of it.
  private func secret(in path: Substring) -> Result<String, Fault> {
    if path.isEmpty {
      return .failure(Fault("'${file:}' names no file", "write '${file:/path}'"))
    }
    let file = path.hasPrefix("/") ? String(path) : folder + path
    func failure(_ reason: String, _ remedy: String) -> Result<String, Fault> {
      .failure(Fault("the secret in \(quoted(file)) cannot be used: it \(reason)", remedy))
    }
    switch secretFile(file) {
    case .failure(let problem):
      return .failure(
        Fault("the secret in \(quoted(file)) cannot be read: \(printable(problem.reason))", problem.remedy))
    case .success(var bytes):
      defer { ProtectedFile.wipe(&bytes) }
      if bytes.count > Self.secretLimit {
        return failure(
          "has more than \(Self.secretLimit) bytes", "name a file that holds the secret and nothing else")
      }
      if bytes.last == UInt8(ascii: "\n") {
        bytes.removeLast()
        if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
      }
      if bytes.isEmpty { return failure("is empty", "write the secret into the file") }
      guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
        return failure("is no text in UTF-8", "write it in base64 or hexadecimal digits, as the option asks")
      }
      return .success(text)
    }
  }

  /// Where no files are read.
  @Sendable static func unread(_ path: String) -> Result<[UInt8], ProtectedFile.Problem> {
    .failure(ProtectedFile.Problem(path: path, reason: "no files are read here", remedy: "use a variable"))
  }

  // MARK: Variables

  /// - Parameter inside: the text between the braces.
  private func value(of inside: Substring) -> Result<String, Fault> {
    let name = inside.prefix { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
    let rest = inside[name.endIndex...]
    guard let first = name.first, !first.isNumber, rest.isEmpty || rest.hasPrefix(":-") else {
      return .failure(
        Fault(
          "\(quoted("${\(inside)}")) does not name a variable",
          "write '${NAME}', '${NAME:-default}' or '${file:/path}'"))
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
