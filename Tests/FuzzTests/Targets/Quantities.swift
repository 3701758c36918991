import Pipeline

extension FuzzTarget {
  /// A size, a duration, or a value of another kind.
  static let quantities = FuzzTarget(name: "quantities", longest: 64) { bytes in
    let text = text(bytes)
    if let size = ByteSize(text) {
      try demand(size.bytes >= 0 && isPrintable(text), "\(text.debugDescription) is \(size.bytes) bytes")
      try demand(
        ByteSize(ByteSize.text(size.bytes)) == size, "\(size) is written \(ByteSize.text(size.bytes))")
      try demand(!ByteSize.rounded(size.bytes).isEmpty, "\(size) has no text")
    }
    if let interval = Interval(text) {
      let written = Interval.text(interval.milliseconds)
      try demand(isPrintable(text), "\(text.debugDescription) is \(interval.milliseconds) ms")
      try demand(Interval(written) == interval, "\(interval) is written \(written)")
    }
    for kind in [
      OptionDescription.Kind.text, .integer, .number, .boolean, .bytes, .duration, .mediaType, .template,
      .channelName,
    ] {
      guard let value = OptionValue(name: "x", text: text, kind: kind) else { continue }
      try demand(value.text == text && value.number.isFinite, "\(text) as \(kind) is \(value)")
    }
  }
}
