import LedgerPort
import Pipeline

extension ServeRules {
  /// Bytes of the longest upload of all.
  var longest: Int64 { max(maxSize, maxImageSize) }

  /// Bytes of the longest upload that calls itself so. What it is, is for the stages to find out.
  func longest(_ item: IntakeItem) -> Int64 {
    if let type = item.declaredType, !type.isEmpty {
      return type.lowercased().hasPrefix("image/") ? maxImageSize : maxSize
    }
    let end = item.fileName.lastIndex(of: ".").map { item.fileName[item.fileName.index(after: $0)...] } ?? ""
    return Self.imageEndings.contains(end.lowercased()) ? maxImageSize : maxSize
  }

  private static let imageEndings: Set<String> = [
    "avif", "bmp", "gif", "heic", "heif", "jpeg", "jpg", "png", "tif", "tiff", "webp",
  ]
}
