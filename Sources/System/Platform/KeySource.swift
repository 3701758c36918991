/// Where a master key lies, as the pipeline file writes it: `credential:NAME`, `file:/path` or `env:NAME`.
public enum KeySource: Sendable, Equatable, CustomStringConvertible {
  /// A credential of systemd: the file of this name in `$CREDENTIALS_DIRECTORY`.
  case credential(String)
  /// A file, by its absolute path.
  case file(String)
  /// An environment variable.
  case environment(String)

  /// `nil`: the text names no place.
  public init?(_ text: String) {
    func rest(after prefix: String) -> String? {
      text.hasPrefix(prefix) ? String(text.dropFirst(prefix.count)) : nil
    }
    if let name = rest(after: "credential:") {
      // systemd's own rule: a plain file name (systemd.exec(5), LoadCredential=).
      guard !name.isEmpty, name != ".", name != "..", name.utf8.count <= 255,
        name.utf8.allSatisfy({ $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ":") && $0 > 0x20 && $0 < 0x7F })
      else { return nil }
      self = .credential(name)
    } else if let path = rest(after: "file:") {
      guard path.hasPrefix("/"), !path.hasSuffix("/"), !path.utf8.contains(0) else { return nil }
      self = .file(path)
    } else if let name = rest(after: "env:") {
      guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first),
        name.utf8.allSatisfy(Self.isNamePart)
      else { return nil }
      self = .environment(name)
    } else {
      return nil
    }
  }

  private static func isNamePart(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "_"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }

  /// As it is written in the pipeline file.
  public var description: String {
    switch self {
    case .credential(let name): "credential:\(name)"
    case .file(let path): "file:\(path)"
    case .environment(let name): "env:\(name)"
    }
  }
}
