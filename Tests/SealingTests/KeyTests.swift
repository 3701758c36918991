import Foundation
import Platform
import Sealing
import Testing

struct KeyTests {
  private let folder: Folder
  private let digits = Samples.digits(1)

  init() throws {
    folder = try Folder()
  }

  private func find(
    _ source: KeySource?, makesKey: Bool = false, _ environment: [String: String] = [:]
  ) throws -> FoundKey {
    try FoundKey.find(source, home: folder.path, makesKey: makesKey, environment: environment)
  }

  /// Tells keys apart without seeing them.
  private func id(_ key: MasterKey) throws -> KeyID { try Vault(key, home: Samples.home).keyID }

  private func complaint(_ body: () throws -> FoundKey) -> String? {
    let error = #expect(throws: SealingError.self) { _ = try body() }
    #expect(error?.isConfiguration == true)
    #expect(error?.description.contains("; ") == true, "it says what to do: \(error?.description ?? "")")
    #expect(error?.description.contains(digits.prefix(8)) == false)
    return error?.description
  }

  // MARK: What a key is

  @Test func aFileHoldsDigitsOrBytes() throws {
    let bytes = try #require(Hexadecimal.bytes(digits))
    let contents: [[UInt8]] = [
      Array(digits.utf8), Array("\(digits)\n".utf8), Array("\(digits)\r\n".utf8),
      Array(digits.uppercased().utf8), bytes,
    ]
    for (number, content) in contents.enumerated() {
      let found = try find(.file(try folder.write("key", content)))
      #expect(try id(found.key) == id(Samples.key(1)), "content \(number)")
      #expect(found.warning == nil && !found.isNew)
      #expect(found.origin == folder.path + "/key")
    }
  }

  @Test func whatIsNoKeyIsRefused() throws {
    let bytes = try #require(Hexadecimal.bytes(digits))
    let contents: [[UInt8]] = [
      [], Array("\n".utf8), Array(bytes.dropLast()), bytes + [1], Array(digits.dropLast().utf8),
      Array("\(digits)0".utf8), Array("\(digits)\n\n".utf8), Array(" \(digits)".utf8),
      Array("\(digits.dropLast())g".utf8),
      [UInt8](repeating: 0, count: 32), Array(String(repeating: "0", count: 64).utf8),
      Array(String(repeating: "ab", count: 32).utf8), [UInt8](repeating: 65, count: 2000),
    ]
    for (number, content) in contents.enumerated() {
      let path = try folder.write("key", content)
      let text = complaint { try find(.file(path)) }
      #expect(text?.hasPrefix("the key \(path): ") == true, "content \(number): \(text ?? "")")
    }
  }

  // MARK: Who may read it

  @Test(arguments: [0o400, 0o600, 0o700, 0o500] as [mode_t])
  func aKeyThatOnlyItsOwnerReadsIsTaken(mode: mode_t) throws {
    let path = try folder.write("key", Array(digits.utf8), mode: mode)
    #expect(try id(find(.file(path)).key) == id(Samples.key(1)))
  }

  @Test func everyModeThatLetsOthersInIsRefused() throws {
    let path = try folder.write("key", Array(digits.utf8))
    for mode in (1...0o77).map({ 0o600 | mode_t($0) }) + [0o644, 0o444, 0o440, 0o660] {
      chmod(path, mode)
      let text = complaint { try find(.file(path)) }
      #expect(
        text
          == "the key \(path): has mode 0\(String(mode, radix: 8)), so that others than its owner can read or change it; run `chmod 0600 \(path)`, "
          + "and think of a new secret: this one may be known")
    }
  }

  @Test func theKeyOfAHomeIsHeldToTheSameRule() throws {
    let path = try folder.write("sluice.key", Array(digits.utf8), mode: 0o640)
    #expect(complaint { try find(nil, makesKey: true) }?.contains("has mode 0640") == true)
    chmod(path, 0o400)
    #expect(try id(find(nil).key) == id(Samples.key(1)))
  }

  @Test func aKeyOfAnotherUserIsRefused() throws {
    let path = try folder.write("key", Array(digits.utf8))
    // Only root gives files away.
    guard chown(path, 12345, 12345) == 0 else { return }
    #expect(
      complaint { try find(.file(path)) }?.contains(
        "belongs to user 12345, who could change it; run `chown 0 ") == true)
  }

  @Test func whatIsNoRegularFileIsRefusedAndNotWaitedFor() throws {
    #expect(complaint { try find(.file(folder.path)) }?.contains("is no regular file") == true)
    mkfifo(folder.path + "/pipe", 0o600)
    #expect(complaint { try find(.file(folder.path + "/pipe")) }?.contains("is no regular file") == true)
    #expect(complaint { try find(.file(folder.path + "/none")) }?.contains("no such file") == true)
  }

  // MARK: Credentials and variables

  @Test func aCredentialIsFoundInItsFolder() throws {
    // systemd grants it to the user by an access control list, whose mask shows as the group's right.
    try folder.write("sluice-key", Array(digits.utf8), mode: 0o440)
    let found = try find(.credential("sluice-key"), ["CREDENTIALS_DIRECTORY": folder.path])
    #expect(try id(found.key) == id(Samples.key(1)))
    #expect(found.origin == "credential 'sluice-key'" && found.warning == nil)
    chmod(folder.path + "/sluice-key", 0o444)
    #expect(
      complaint { try find(.credential("sluice-key"), ["CREDENTIALS_DIRECTORY": folder.path]) }?
        .contains("has mode 0444, so that others than its owner and group") == true)
    for environment in [[:], ["CREDENTIALS_DIRECTORY": ""]] {
      #expect(
        complaint { try find(.credential("sluice-key"), environment) }
          == "the key is the credential 'sluice-key', and $CREDENTIALS_DIRECTORY is not set; start sluice by systemd with "
          + "'LoadCredential=sluice-key:/path', or name a file: 'secrets: { key: file:/path }'")
    }
    #expect(
      complaint { try find(.credential("other"), ["CREDENTIALS_DIRECTORY": folder.path]) }?.contains(
        "no such file") == true)
  }

  @Test func aVariableGivesAKeyAndAWarning() throws {
    let base64 = Data(try #require(Hexadecimal.bytes(digits))).base64EncodedString()
    for text in [digits, digits + "\n", base64, base64 + "\n"] {
      let found = try find(.environment("KEY"), ["KEY": text])
      #expect(try id(found.key) == id(Samples.key(1)))
      #expect(
        found.warning
          == "the key comes from the variable 'KEY', which every program that this user starts may see; name a credential or a "
          + "file instead")
    }
    let wrong = [
      String(base64.dropLast()), base64.replacingOccurrences(of: "=", with: "A"), " " + base64, digits + "00",
      String(base64.dropLast(2)) + "/=", "key", String(repeating: "A", count: 43) + "=",
    ]
    for text in wrong {
      #expect(
        complaint { try find(.environment("KEY"), ["KEY": text]) }?.hasPrefix(
          "the variable 'KEY' holds no key") == true, "\(text)")
    }
    for environment in [[:], ["KEY": ""]] {
      #expect(
        complaint { try find(.environment("KEY"), environment) }?.hasPrefix(
          "the key is the variable 'KEY', which is not set; ")
          == true)
    }
  }

  // MARK: Making one

  @Test func aKeyIsMadeOnceAndSurvives() throws {
    let made = try find(nil, makesKey: true)
    #expect(made.isNew)
    #expect(
      made.warning
        == "a key was made at \(folder.path)/sluice.key; keep a copy elsewhere, for nothing that is sealed can be opened without it"
    )
    var facts = stat()
    #expect(stat(folder.path + "/sluice.key", &facts) == 0)
    #expect(facts.st_mode == S_IFREG | 0o600 && facts.st_size == 65 && facts.st_nlink == 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["sluice.key"])
    for makesKey in [true, false] {
      let again = try find(nil, makesKey: makesKey)
      #expect(!again.isNew && again.warning == nil)
      #expect(try id(again.key) == id(made.key))
    }
    let other = try Folder()
    let second = try FoundKey.find(nil, home: other.path, makesKey: true, environment: [:])
    #expect(try id(second.key) != id(made.key), "each is random")
  }

  @Test func aNarrowMaskDoesNotTakeTheOwnersRights() throws {
    let mask = umask(0o777)
    let made = Result { try find(nil, makesKey: true) }
    umask(mask)
    _ = try made.get()
    var facts = stat()
    #expect(stat(folder.path + "/sluice.key", &facts) == 0 && facts.st_mode & 0o777 == 0o600)
  }

  @Test func noKeyIsMadeWhereOneIsMissing() throws {
    #expect(
      complaint { try find(nil) }
        == "the key \(folder.path)/sluice.key is not there, and what this home has sealed cannot be opened without it; put it back "
        + "from where you keep a copy, or name it in the pipeline file: 'secrets: { key: file:/path }'")
    #expect(complaint { try find(.file(folder.path + "/key"), makesKey: true) } != nil)
    #expect(complaint { try find(.environment("KEY"), makesKey: true) } != nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test func whereNoFileCanBeMadeThereIsNoKey() throws {
    let text = complaint {
      try FoundKey.find(nil, home: folder.path + "/none", makesKey: true, environment: [:])
    }
    #expect(text?.contains("a key is made there") == true)
    // A link to nowhere is neither followed nor replaced.
    symlink("nowhere", folder.path + "/sluice.key")
    #expect(complaint { try find(nil, makesKey: true) }?.contains("no such file") == true)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["sluice.key"])
  }

  // MARK: Where it lies

  @Test func aSourceIsReadAsItIsWritten() {
    let known: [(String, KeySource)] = [
      ("credential:sluice-key", .credential("sluice-key")), ("credential:a.b_c", .credential("a.b_c")),
      ("file:/etc/sluice/key", .file("/etc/sluice/key")), ("file:/a b", .file("/a b")),
      ("env:SLUICE_KEY", .environment("SLUICE_KEY")), ("env:_1", .environment("_1")),
    ]
    for (text, source) in known {
      #expect(KeySource(text) == source)
      #expect("\(source)" == text)
    }
    for text in [
      "", "credential:", "credential:..", "credential:.", "credential:a/b", "credential:a:b",
      "credential:a b", "file:",
      "file:key", "file:/a/", "file:/", "file:/a\0b", "env:", "env:1A", "env:A-B", "env:$A", "FILE:/a",
      "sluice.key", digits,
    ] { #expect(KeySource(text) == nil, "\(text)") }
  }
}
