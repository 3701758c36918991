import Platform
import Sealing
import Testing

/// Answers that others have published.
struct KnownAnswerTests {
  struct Vector: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var key = String(repeating: "feffe9928665731c6d6a8f9467308308", count: 2)
    var nonce = "cafebabefacedbaddecaf888"
    var associated = ""
    var plain = ""
    var cipher = ""
    var tag: String
  }

  private static let plain =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
  private static let cipher =
    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"

  /// "The Galois/Counter Mode of Operation", test cases 13 to 16.
  static let gcm = [
    Vector(
      testDescription: "13", key: String(repeating: "00", count: 32),
      nonce: String(repeating: "00", count: 12),
      tag: "530f8afbc74536b9a963b4f1c4cb738b"),
    Vector(
      testDescription: "14", key: String(repeating: "00", count: 32),
      nonce: String(repeating: "00", count: 12),
      plain: String(repeating: "00", count: 16), cipher: "cea7403d4d606b6e074ec5d3baf39d18",
      tag: "d0d1c8a799996bf0265b98b5d48ab919"),
    Vector(
      testDescription: "15", plain: plain + "1aafd255", cipher: cipher + "898015ad",
      tag: "b094dac5d93471bdec1a502270e3cc6c"),
    Vector(
      testDescription: "16", associated: "feedfacedeadbeeffeedfacedeadbeefabaddad2", plain: plain,
      cipher: cipher, tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
  ]

  @Test(arguments: gcm)
  func aesGCMGivesThePublishedAnswers(vector: Vector) throws {
    let gcm = try #require(AESGCM())
    let key = try bytes(vector.key)
    let nonce = try bytes(vector.nonce)
    let plain = try bytes(vector.plain)
    let associated = try bytes(vector.associated)
    var sealed = [UInt8](repeating: 0, count: plain.count + 16)
    let isSealed = key.withUnsafeBytes { key in
      nonce.withUnsafeBytes { nonce in
        plain.withUnsafeBytes { plain in
          sealed.withUnsafeMutableBytes {
            gcm.seal(plain, key: key, nonce: nonce, associated: associated, into: $0)
          }
        }
      }
    }
    #expect(isSealed)
    #expect(Hexadecimal.text(sealed) == vector.cipher + vector.tag)
    var opened = [UInt8](repeating: 1, count: plain.count)
    let isOpen = key.withUnsafeBytes { key in
      nonce.withUnsafeBytes { nonce in
        sealed.withUnsafeBytes { sealed in
          opened.withUnsafeMutableBytes {
            gcm.open(sealed, key: key, nonce: nonce, associated: associated, into: $0)
          }
        }
      }
    }
    #expect(isOpen)
    #expect(opened == plain)
  }

  @Test func whatDoesNotOpenLeavesZeros() throws {
    let gcm = try #require(AESGCM())
    let key = [UInt8](repeating: 7, count: 32)
    let nonce = [UInt8](repeating: 7, count: 12)
    var output = [UInt8](repeating: 9, count: 100)
    let isOpen = key.withUnsafeBytes { key in
      nonce.withUnsafeBytes { nonce in
        [UInt8](repeating: 3, count: 116).withUnsafeBytes { sealed in
          output.withUnsafeMutableBytes { gcm.open(sealed, key: key, nonce: nonce, associated: [], into: $0) }
        }
      }
    }
    #expect(!isOpen)
    #expect(output == [UInt8](repeating: 0, count: 100))
  }

  struct Derivation: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var material: [UInt8]
    var salt: [UInt8]
    var info: [UInt8]
    var key: String
    var output: String
  }

  /// RFC 5869, appendix A.1 to A.3.
  static let hkdf = [
    Derivation(
      testDescription: "A.1", material: [UInt8](repeating: 0x0B, count: 22), salt: Array(0...0x0C),
      info: Array(0xF0...0xF9), key: "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5",
      output: "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"),
    Derivation(
      testDescription: "A.2", material: Array(0...0x4F), salt: Array(0x60...0xAF), info: Array(0xB0...0xFF),
      key: "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15fc244",
      output:
        "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09"
        + "da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"),
    Derivation(
      testDescription: "A.3", material: [UInt8](repeating: 0x0B, count: 22), salt: [], info: [],
      key: "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04",
      output: "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"),
  ]

  @Test(arguments: hkdf)
  func hkdfGivesThePublishedAnswers(vector: Derivation) {
    var key = [UInt8](repeating: 0, count: 32)
    var output = [UInt8](repeating: 0, count: vector.output.utf8.count / 2)
    let isMade = key.withUnsafeMutableBytes { key in
      vector.material.withUnsafeBytes { KeyDerivation.extract(salt: vector.salt, $0, into: key) }
    }
    #expect(isMade)
    #expect(Hexadecimal.text(key) == vector.key)
    let isExpanded = output.withUnsafeMutableBytes { output in
      key.withUnsafeBytes { KeyDerivation.expand($0, info: vector.info, into: output) }
    }
    #expect(isExpanded)
    #expect(Hexadecimal.text(output) == vector.output)
  }

  private func bytes(_ digits: String) throws -> [UInt8] { try #require(Hexadecimal.bytes(digits)) }
}
