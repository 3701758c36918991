/// The standard security handler, revision 2, with RC4 and a 40-bit key: ISO 32000-1 clause 7.6.
///
/// The oldest and simplest scheme, which every reader still opens. It protects nothing: it is here to be
/// recognized, not to keep a secret.
struct StandardSecurityHandler {
  typealias Cipher = ([UInt8]) -> [UInt8]

  /// What readers without the owner password may do: table 22.
  struct Permissions: OptionSet {
    let rawValue: Int32

    static let print = Permissions(rawValue: 1 << 2)
    static let modify = Permissions(rawValue: 1 << 3)
    static let copy = Permissions(rawValue: 1 << 4)
    static let annotate = Permissions(rawValue: 1 << 5)
    static let all: Permissions = [.print, .modify, .copy, .annotate]

    /// The P entry: bits 1 and 2 are 0, bits from 7 up are 1.
    var entry: Int32 { rawValue | ~0x3F }
  }

  private let ownerEntry: [UInt8]
  private let userEntry: [UInt8]
  private let permissions: Int32
  private let fileIdentifier: [UInt8]
  private let key: [UInt8]

  /// Computes the entries of the encryption dictionary.
  ///
  /// `fileName` stands for the document in its file identifier, which would otherwise come from the clock
  /// (14.4). Throws `SampleError` where OpenSSL refuses MD5.
  init(userPassword: String, ownerPassword: String, permissions: Permissions, fileName: String) throws {
    fileIdentifier = try md5(Array(fileName.utf8))
    self.permissions = permissions.entry
    // Algorithm 3: the O entry.
    let ownerKey = try md5(Self.padded(ownerPassword)).prefix(Self.keyLength)
    ownerEntry = RC4.encrypt(Self.padded(userPassword), key: Array(ownerKey))
    // Algorithm 2: the encryption key.
    var seed = Self.padded(userPassword) + ownerEntry
    seed.append(littleEndian: self.permissions)
    key = Array(try md5(seed + fileIdentifier).prefix(Self.keyLength))
    // Algorithm 4: the U entry.
    userEntry = RC4.encrypt(Self.padding, key: key)
  }

  /// Algorithm 1: each object has its own key; every generation is 0.
  func cipher(forObject number: Int) throws -> Cipher {
    var seed = key
    seed.append(littleEndian: UInt32(number))
    seed.removeLast()  // three bytes of the object number
    seed += [0, 0]  // two of its generation
    let objectKey = Array(try md5(seed).prefix(key.count + 5))
    return { RC4.encrypt($0, key: objectKey) }
  }

  /// The encryption dictionary (tables 20 and 21) and the file identifier (14.4). Neither is encrypted.
  var trailerEntries: PDFObject.Entries {
    let dictionary: PDFObject = [
      "Filter": .name("Standard"), "V": 1, "R": 2, "Length": .integer(Self.keyLength * 8),
      "O": .string(ownerEntry), "U": .string(userEntry), "P": .integer(Int(permissions)),
    ]
    return [("Encrypt", dictionary), ("ID", [.string(fileIdentifier), .string(fileIdentifier)])]
  }

  private static let keyLength = 5

  /// Algorithm 2, step a: passwords are 32 bytes, cut or filled up with this.
  private static let padding: [UInt8] = [
    0x28, 0xBF, 0x4E, 0x5E, 0x4E, 0x75, 0x8A, 0x41, 0x64, 0x00, 0x4E, 0x56, 0xFF, 0xFA, 0x01, 0x08,
    0x2E, 0x2E, 0x00, 0xB6, 0xD0, 0x68, 0x3E, 0x80, 0x2F, 0x0C, 0xA9, 0xFE, 0x64, 0x53, 0x69, 0x7A,
  ]

  private static func padded(_ password: String) -> [UInt8] {
    Array((Array(password.utf8) + padding).prefix(padding.count))
  }
}
