import Glibc

extension [UInt8] {
  /// Calls a function with these bytes as a path, which may be any bytes but NUL (path_resolution(7)).
  public func withPath<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    (self + [0]).withUnsafeBufferPointer { bytes in
      // Never empty: it ends with NUL.
      bytes.withMemoryRebound(to: CChar.self) { body($0.baseAddress.unsafelyUnwrapped) }
    }
  }
}
