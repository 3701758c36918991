import PDFDocument
import PDFPictures
import Pictures
import StageKit

extension DrawnDocument {
  /// A page as it is shown, on white; `index` begins at 0.
  func picture(of index: Int, fitting edge: Int) throws(Outcome) -> Pixels {
    guard let page = page(Int32(clamping: index)) else {
      throw Preview.damage("page \(index + 1) does not load")
    }
    do throws(Page.Blank) {
      return try page.draw(fitting: edge) { Pixels(drawn: $0, stride: $1, width: $2, height: $3) }
    } catch {
      switch error {
      case .sizeless: throw Preview.damage("page \(index + 1) has no size")
      case .undrawable(let reason): throw Preview.damage("page \(index + 1) cannot be drawn: \(reason)")
      case .outOfMemory: throw .fail("out-of-memory", "there is no memory to draw page \(index + 1)")
      }
    }
  }
}

extension Pixels {
  /// Copies pixels of four bytes, as numbers `0x00RRGGBB`.
  fileprivate init(drawn pixels: UnsafeRawBufferPointer, stride: Int, width: Int, height: Int) {
    self.init(width: width, height: height, bands: 3)
    var target = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    for line in 0..<height {
      for column in 0..<width {
        let pixel = pixels.loadUnaligned(fromByteOffset: line * stride + column * 4, as: UInt32.self)
        target?[0] = UInt8(truncatingIfNeeded: pixel >> 16)
        target?[1] = UInt8(truncatingIfNeeded: pixel >> 8)
        target?[2] = UInt8(truncatingIfNeeded: pixel)
        target = target.map { $0 + 3 }
      }
    }
  }
}
