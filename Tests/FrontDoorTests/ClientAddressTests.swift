import FrontWire
import Platform
import Testing

@testable import FrontDoor

/// Where a request comes from, with proxies on its way that are trusted and that are not.
struct ClientAddressTests {
  private static func address(_ peer: String, _ forwarded: [String], trusting: [String] = ["10.0.0.0/8"])
    -> String
  {
    let request = FrontRequest(
      serial: 1, method: "GET", segments: [], fields: forwarded.map { .init("x-forwarded-for", $0) },
      peer: peer)
    return ClientAddress.of(request, trusting: trusting.compactMap { AddressRange($0) })
  }

  @Test func whatNoTrustedProxySaysIsNotBelieved() {
    #expect(Self.address("192.0.2.1", ["198.51.100.7"]) == "192.0.2.1")
    #expect(Self.address("192.0.2.1", []) == "192.0.2.1")
    #expect(Self.address("10.0.0.1", ["198.51.100.7"], trusting: []) == "10.0.0.1")
  }

  @Test func theLastThatNoProxyHasIsTheClient() {
    #expect(Self.address("10.0.0.1", ["198.51.100.7"]) == "198.51.100.7")
    #expect(Self.address("10.0.0.1", ["198.51.100.7, 10.0.0.2"]) == "198.51.100.7")
    #expect(Self.address("10.0.0.1", ["198.51.100.7", "10.0.0.2"]) == "198.51.100.7")
    // The client wrote the first of them.
    #expect(Self.address("10.0.0.1", ["203.0.113.9, 198.51.100.7"]) == "198.51.100.7")
    #expect(Self.address("10.0.0.1", ["10.0.0.3, 10.0.0.2"]) == "10.0.0.3")
  }

  /// Only a proxy of this machine has it.
  @Test func aUnixSocketIsTrusted() {
    #expect(Self.address("", ["198.51.100.7"], trusting: []) == "198.51.100.7")
    #expect(Self.address("", [], trusting: []) == "")
  }

  @Test func portsAndBracketsAreTakenOff() {
    #expect(Self.address("10.0.0.1", ["198.51.100.7:4711"]) == "198.51.100.7")
    #expect(Self.address("10.0.0.1", ["[2001:db8::1]:4711"]) == "2001:db8::1")
    #expect(Self.address("10.0.0.1", ["2001:db8::1"]) == "2001:db8::1")
  }

  @Test func whatIsNoAddressEndsTheSearch() {
    for text in ["unknown", "_hidden", "", ",", "1.2.3.4.5", "<script>", "[", "198.51.100.7, unknown"] {
      #expect(Self.address("10.0.0.1", [text]) == "10.0.0.1", "'\(text)'")
    }
  }
}
