extension Int64 {
  /// The sum, or the end of the range: sizes come from sparse files and file systems, and may be as large as they like.
  public static func saturatingSum(_ one: Int64, _ other: Int64) -> Int64 {
    let (sum, overflows) = one.addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }
}
