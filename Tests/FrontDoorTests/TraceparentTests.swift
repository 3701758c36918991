import FrontWire
import Testing

@testable import FrontDoor

/// A `traceparent` of this version and of later ones (W3C Trace Context, 3.2.2 to 3.2.4).
struct TraceparentTests {
  private static let trace = "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"

  @Test func thisVersionHasFourFields() {
    #expect(FrontRequest.traceparent("00-\(Self.trace)-01") == "00-\(Self.trace)-01")
    #expect(FrontRequest.traceparent("00-\(Self.trace)-03") == "00-\(Self.trace)-03")
    for text in [
      "00-\(Self.trace)-01-", "00-\(Self.trace)-01-more", "00-\(Self.trace)", "00-\(Self.trace)-1", "",
      "00-\(Self.trace)-0g", "0-\(Self.trace)-01", "00-\(Self.trace.uppercased())-01",
      "00-00000000000000000000000000000000-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
    ] {
      #expect(FrontRequest.traceparent(text) == nil, "\(text)")
    }
  }

  /// It goes on in the version that is known here, with the one flag of it.
  @Test func aLaterVersionIsReadAsFarAsItIsKnown() {
    for version in ["01", "cc", "fe"] {
      #expect(FrontRequest.traceparent("\(version)-\(Self.trace)-01") == "00-\(Self.trace)-01")
      #expect(
        FrontRequest.traceparent("\(version)-\(Self.trace)-ff-what-comes-later") == "00-\(Self.trace)-01")
      #expect(FrontRequest.traceparent("\(version)-\(Self.trace)-02-") == "00-\(Self.trace)-00")
    }
    for text in [
      "ff-\(Self.trace)-01", "FE-\(Self.trace)-01", "01-\(Self.trace)-01.more", "01-\(Self.trace)",
      "01-00000000000000000000000000000000-b7ad6b7169203331-01", "1-\(Self.trace)-01", "-\(Self.trace)-01",
      "01--\(Self.trace)-01",
    ] {
      #expect(FrontRequest.traceparent(text) == nil, "\(text)")
    }
  }
}
