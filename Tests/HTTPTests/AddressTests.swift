import Foundation
import Glibc
import Outbound
import Testing
import Wire

/// Addresses and hosts that may not be reached, however they are written. The server counts connections.
@Suite(.serialized)
struct AddressTests {
  /// `PORT` stands for the server's.
  static let links = [
    "http://127.0.0.1:PORT/", "http://127.0.0.1.:PORT/", "http://127.1:PORT/", "http://127.0.1:PORT/",
    "http://2130706433:PORT/", "http://017700000001:PORT/", "http://0x7f000001:PORT/",
    "http://0x7f.0.0.1:PORT/",
    "http://0177.0.0.1:PORT/", "http://127.0.0x0.1:PORT/", "http://0x7f.1:PORT/", "http://0:PORT/",
    "http://0.0.0.0:PORT/", "http://localhost:PORT/", "http://LOCALHOST:PORT/", "http://localhost.:PORT/",
    "http://[::1]:PORT/", "http://[::]:PORT/", "http://[0:0:0:0:0:0:0:1]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/", "http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/", "http://[::127.0.0.1]:PORT/",
    "http://[64:ff9b::127.0.0.1]:PORT/", "http://[64:ff9b::7f00:1]:PORT/",
    "http://[64:ff9b:1::127.0.0.1]:PORT/",
    "http://[2002:7f00:1::]:PORT/", "http://[2002:7f00:0001::1]:PORT/", "http://[fe80::1%25lo]:PORT/",
    "http://[fc00::1]:PORT/", "http://[fd00:ec2::254]:PORT/", "http://user@127.0.0.1:PORT/",
    "http://example.com@127.0.0.1:PORT/", "http://example.com:80@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\\@example.com/",
    "http://%31%32%37.0.0.1:PORT/", "http://127%2e0%2e0%2e1:PORT/", "http:127.0.0.1:PORT/",
    "http:///127.0.0.1:PORT/",
    "http://10.0.0.1:PORT/", "http://192.168.0.1:PORT/", "http://172.16.0.1:PORT/", "http://169.254.169.254/",
    "http://100.64.0.1:PORT/", "http://198.18.0.1:PORT/", "http://224.0.0.1:PORT/",
    "http://255.255.255.255:PORT/",
    "http://\u{2460}27.0.0.1:PORT/", "http://127\u{3002}0.0.1:PORT/", "//127.0.0.1:PORT/", "127.0.0.1:PORT",
    "ftp://127.0.0.1:PORT/", "gopher://127.0.0.1:PORT/", "dict://127.0.0.1:PORT/", "file:///etc/passwd", "",
    "http://", "http://:PORT/", "http:// 127.0.0.1:PORT/", "http://127.0.0.1:PORT/\r\nX: y",
  ]

  @Test func noSpellingReachesAnAddressThatIsNotAllowed() throws {
    let server = try Server { _, exchange in exchange.answer(200, [], sample(10)) }
    var options = SourceWorker.Options()
    options.allowPrivate = []
    options.connectTimeout = 500
    let worker = try SourceWorker(options)
    for link in Self.links {
      let url = link.replacing("PORT", with: "\(server.port)")
      let fetched = try worker.fetch(url)
      #expect(
        ["fail address-not-allowed", "fail invalid-link"].contains(fetched.summary)
          // A resolver may not know this spelling.
          || link.contains("localhost.") && fetched.summary == "retry name-not-found",
        "\(link): \(fetched.summary), \(fetched.message)")
      #expect(fetched.content.isEmpty)
    }
    #expect(server.connections == 0)
    #expect(Self.links.count >= 40)
  }

  /// Those of metadata services and of hosts of virtual machines.
  @Test(arguments: [
    "169.254.169.254", "169.254.170.2", "169.254.42.42", "fe80::a9fe:a9fe", "fd00:ec2::254", "fd20:ce::254",
    "fd00:42::42", "100.100.100.200", "192.0.0.192", "168.63.129.16", "::ffff:168.63.129.16",
    "64:ff9b::168.63.129.16",
  ])
  func noCloudsOwnAddressIsAllowed(text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(!AddressPolicy().allows(address, for: text))
    #expect(try AddressPolicy(allowing: [text]).allows(address, for: text))
  }

  /// In a network of the test's own, which has the address while the policy is asked.
  @Test(.enabled(if: getuid() == 0, "skipped: only root makes networks"))
  func aPublicAddressOfThisMachineIsNotAllowed() throws {
    let (four, six) = ("9.9.9.10", "2620:fe::10")
    let others = ["9.9.9.11", "2620:fe::11"]
    let addresses = try ([four, six] + others).map { try #require(IPAddress($0)) }
    nonisolated(unsafe) let result = UnsafeMutablePointer<[Bool]>.allocate(capacity: 1)
    result.initialize(to: [])
    // Of a thread, a network is its own, and the programs that it starts are in it.
    let thread = Thread {
      guard Self.leaveNetwork() else { return }
      let commands = "ip link set lo up"
      guard system(commands) == 0 else { return }
      func ask() { result.pointee += addresses.map { AddressPolicy().allows($0, for: "\($0)") } }
      ask()
      guard system("ip addr add \(four)/32 dev lo && ip addr add \(six)/128 dev lo nodad") == 0 else {
        return
      }
      ask()
    }
    thread.start()
    while !thread.isFinished { usleep(1000) }
    let allowed = result.pointee
    result.deinitialize(count: 1)
    result.deallocate()
    #expect(allowed == [true, true, true, true, false, false, true, true])
    let policy = try AddressPolicy(allowing: [four])
    #expect(policy.allows(addresses[0], for: four))
  }

  /// Gives the thread a network of its own: unshare(2), which the module of the C library does not show.
  private static func leaveNetwork() -> Bool {
    typealias Unshare = @convention(c) (Int32) -> Int32
    guard let unshare = dlsym(nil, "unshare") else { return false }
    let newNetwork: Int32 = 0x4000_0000
    return unsafeBitCast(unshare, to: Unshare.self)(newNetwork) == 0
  }

  @Test func noRedirectReachesOneEither() throws {
    let inner = try Server(at: 0x7F00_0002) { _, exchange in exchange.answer(200, [], sample(10)) }
    let targets = [
      "http://127.0.0.2:PORT/", "//127.0.0.2:PORT/", "http://2130706434:PORT/", "http://0x7f.2:PORT/",
      "http://[::ffff:127.0.0.2]:PORT/", "http://[64:ff9b::127.0.0.2]:PORT/", "http://user@127.0.0.2:PORT/",
      "http://127.2:PORT/", "http://0177.0.0.2:PORT/", "http://127.0.0.2.:PORT/",
    ]
    let server = try Server { request, exchange in
      let index = Int(request.path.dropFirst()) ?? 0
      exchange.answer(302, "Location: " + targets[index].replacing("PORT", with: "\(inner.port)"))
    }
    let worker = try SourceWorker()
    for (index, target) in targets.enumerated() {
      let fetched = try worker.fetch(server.url("/\(index)"))
      #expect(
        ["fail address-not-allowed", "fail redirect-refused"].contains(fetched.summary),
        "\(target): \(fetched.summary), \(fetched.message)")
    }
    #expect(inner.connections == 0)
    #expect(server.connections > 0)
  }

  @Test func aNameMayBeAllowedWithAllItsAddresses() throws {
    let server = try Server { _, exchange in exchange.answer(200, [], sample(10)) }
    var options = SourceWorker.Options()
    options.allowPrivate = ["localhost"]
    let worker = try SourceWorker(options)
    #expect(try worker.fetch("http://localhost:\(server.port)/").summary == "pass")
    #expect(try worker.fetch(server.url("/")).summary == "fail address-not-allowed")
  }

  @Test func onlyHostsOfTheListAreAsked() throws {
    let server = try Server { request, exchange in
      if request.path == "/away" { return exchange.answer(302, "Location: http://other.example/hidden") }
      exchange.answer(200, [], sample(10))
    }
    var options = SourceWorker.Options()
    options.hosts = ["127.0.0.1", "*.example.com"]
    let worker = try SourceWorker(options)
    #expect(try worker.fetch(server.url("/")).summary == "pass")
    for host in ["localhost", "example.com", "aexample.com", "example.com.evil.example"] {
      let fetched = try worker.fetch("http://\(host):\(server.port)/hidden")
      #expect(fetched.summary == "fail host-not-allowed", "\(host)")
      #expect(fetched.message == "\(host) is not among the `hosts` that may be asked")
    }
    #expect(try worker.fetch(server.url("/away")).summary == "fail host-not-allowed")
    #expect(server.connections == 1)
  }

  // MARK: Redirects

  @Test func redirectsAreFollowedAsFarAsAllowed() throws {
    let server = try Server { request, exchange in
      let left = Int(request.path.dropFirst()) ?? 0
      if left > 0 { return exchange.answer(302, "Location: \(left - 1)") }
      exchange.answer(200, [], sample(1000))
    }
    let worker = try SourceWorker()
    #expect(try worker.fetch(server.url("/5")).holds(sample(1000)))
    let fetched = try worker.fetch(server.url("/6"))
    #expect(fetched.summary == "fail redirect-refused")
    #expect(fetched.message == "127.0.0.1 redirects once more, and 5 redirects are followed")
  }

  @Test func aCredentialGoesToItsHostsOnly() throws {
    let other = try Server { _, exchange in exchange.answer(200, [], sample(10)) }
    let server = try Server { request, exchange in
      if request.path == "/away" { return exchange.answer(302, "Location: http://localhost:\(other.port)/") }
      exchange.answer(200, [], sample(10))
    }
    let worker = try SourceWorker()
    for path in ["/", "/away"] {
      let fetched = try worker.fetch(server.url(path)) {
        $0.headers = ["Authorization: Bearer x", "X-Key: y"]
        $0.trustedHosts = ["127.0.0.1"]
      }
      #expect(fetched.summary == "pass", "\(fetched.message)")
    }
    #expect(
      server.requests.allSatisfy { $0.headers["authorization"] == "Bearer x" && $0.headers["x-key"] == "y" })
    #expect(other.requests.count == 1)
    #expect(other.requests.allSatisfy { $0.headers["authorization"] == nil && $0.headers["x-key"] == nil })
  }

  @Test func aPostGoesOnAsItMay() throws {
    let server = try Server { request, exchange in
      switch request.path {
      case "/303": exchange.answer(303, "Location: /got")
      case "/307": exchange.answer(307, "Location: /got")
      default: exchange.answer(200, [], Array("\(request.method) \(request.body.count)".utf8))
      }
    }
    let worker = try SourceWorker()
    for (path, expected) in [("/303", "GET 0"), ("/307", "POST 4")] {
      let fetched = try worker.fetch(server.url(path)) {
        $0.method = "POST"
        $0.body = Array("body".utf8)
      }
      #expect(String(decoding: fetched.content, as: UTF8.self) == expected)
    }
  }

  @Test(arguments: [
    "Range: bytes=0-1", "Host: other", "Accept-Encoding: gzip", "Transfer-Encoding: chunked", "no colon",
    "X: a\r\nY: b", "X : y", ": y", "X;",
  ])
  func aCredentialIsAPlainHeader(header: String) throws {
    let server = try Server { _, exchange in exchange.answer(200, [], []) }
    let fetched = try SourceWorker().fetch(server.url("/")) {
      $0.headers = [header]
      $0.trustedHosts = ["127.0.0.1"]
    }
    #expect(fetched.summary == "fail invalid-link")
    #expect(server.connections == 0)
  }
}
