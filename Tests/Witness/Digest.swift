import CCrypto
import Foundation

enum Digest {
  static func sha256(_ data: Data) -> String {
    var digest = [UInt8](repeating: 0, count: 32)
    _ = data.withUnsafeBytes { EVP_Digest($0.baseAddress, $0.count, &digest, nil, EVP_sha256(), nil) }
    return hexadecimal(digest)
  }

  static func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }
}
