import Glibc
import Platform

/// A master key, with where it was found.
public struct FoundKey: Sendable {
  public let key: MasterKey
  /// Where it was found, for people: `credential 'sluice-key'`, `/etc/sluice/key`, `variable SLUICE_KEY`.
  public let origin: String
  /// What the operator should know of it, one sentence; `nil`: nothing.
  public let warning: String?
  /// It was made just now.
  public let isNew: Bool

  /// The file of a home whose configuration names no key.
  public static func usualPath(home: String) -> String { "\(home)/sluice.key" }

  /// Whether there is such a file, or something else in its place.
  public static func isThere(home: String) -> Bool {
    access(usualPath(home: home), F_OK) == 0 || errno != ENOENT
  }

  static let folderVariable = "CREDENTIALS_DIRECTORY"
  /// A file of a key is shorter; one of a kilobyte is something else.
  private static let fileLimit = 1024

  /// Finds the key of a home.
  ///
  /// - Parameters:
  ///   - source: where it lies; `nil`: in the home's `sluice.key`.
  ///   - home: the home's folder.
  ///   - makesKey: without a source and without a file, a key is made, mode 0600, synced with its folder. Only for a home in
  ///     which nothing is sealed yet.
  ///   - environment: the variables of this process.
  /// - Throws: ``SealingError/Code/configuration`` if there is none, or it is not protected. Nothing was changed then.
  public static func find(
    _ source: KeySource?, home: String, makesKey: Bool, environment: [String: String]
  ) throws(SealingError) -> FoundKey {
    switch source {
    case nil:
      let path = usualPath(home: home)
      if isThere(home: home) { return try read(path, origin: path, rule: .key) }
      if makesKey { return try make(path) }
      throw SealingError(
        .configuration,
        "the key \(path) is not there, and what this home has sealed cannot be opened without it; put it back from where "
          + "you keep a copy, or name it in the pipeline file: 'secrets: { key: file:/path }'")
    case .file(let path):
      return try read(path, origin: path, rule: .key)
    case .credential(let name):
      guard let folder = environment[folderVariable], !folder.isEmpty else {
        throw SealingError(
          .configuration,
          "the key is the credential '\(name)', and $\(folderVariable) is not set; start sluice by systemd with "
            + "'LoadCredential=\(name):/path', or name a file: 'secrets: { key: file:/path }'")
      }
      return try read("\(folder)/\(name)", origin: "credential '\(name)'", rule: .credential)
    case .environment(let name):
      guard let text = environment[name], !text.isEmpty else {
        throw SealingError(
          .configuration,
          "the key is the variable '\(name)', which is not set; set it, or better name a file: 'secrets: { key: file:/path }'"
        )
      }
      var content = Array(text.utf8)
      defer { ProtectedFile.wipe(&content) }
      guard var bytes = KeyText.ofVariable(content) else {
        throw SealingError(
          .configuration,
          "the variable '\(name)' holds no key, which is 64 hexadecimal digits or base64 of 32 bytes; \(MasterKey.recipe)"
        )
      }
      return FoundKey(
        key: try MasterKey(wiping: &bytes), origin: "variable \(name)",
        warning:
          "the key comes from the variable '\(name)', which every program that this user starts may see; "
          + "name a credential or a file instead",
        isNew: false)
    }
  }

  private init(key: MasterKey, origin: String, warning: String?, isNew: Bool) {
    (self.key, self.origin, self.warning, self.isNew) = (key, origin, warning, isNew)
  }

  private static func read(
    _ path: String, origin: String, rule: ProtectedFile.Rule
  ) throws(SealingError) -> FoundKey {
    var bytes: [UInt8]
    do throws(ProtectedFile.Problem) {
      bytes = try content(path, rule)
    } catch {
      throw SealingError(.configuration, "the key \(error)")
    }
    return FoundKey(key: try MasterKey(wiping: &bytes), origin: origin, warning: nil, isNew: false)
  }

  /// The bytes of the key in a file.
  private static func content(
    _ path: String, _ rule: ProtectedFile.Rule
  ) throws(ProtectedFile.Problem) -> [UInt8] {
    var content = try ProtectedFile.read(path, limit: fileLimit, rule: rule)
    defer { ProtectedFile.wipe(&content) }
    if let bytes = KeyText.ofFile(content) { return bytes }
    throw ProtectedFile.Problem(
      path: path,
      reason:
        "holds no key (\(content.count) bytes), which is 64 hexadecimal digits or 32 bytes, not all the same",
      remedy: MasterKey.recipe)
  }

  private static func make(_ path: String) throws(SealingError) -> FoundKey {
    var bytes = try MasterKey.randomBytes()
    var content = Array(Hexadecimal.text(bytes).utf8) + [UInt8(ascii: "\n")]
    defer { ProtectedFile.wipe(&content) }
    let isMade: Bool
    do throws(SystemError) {
      isMade = try ProtectedFile.make(path, content)
    } catch {
      ProtectedFile.wipe(&bytes)
      throw SealingError(
        .configuration, "\(error); a key is made there, so give this user the right to write")
    }
    if !isMade {
      // Another process made one meanwhile: that is the key.
      ProtectedFile.wipe(&bytes)
      return try read(path, origin: path, rule: .key)
    }
    return FoundKey(
      key: try MasterKey(wiping: &bytes), origin: path,
      warning:
        "a key was made at \(path); keep a copy elsewhere, for nothing that is sealed can be opened without it",
      isNew: true)
  }
}
