import Foundation
import Testing

@testable import FrontDoor

/// The page for users says what the table of routes says.
struct RoutesPageTests {
  @Test func thePageHasEachRouteWithItsParties() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("docs/http.md")
    let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    let start = try #require(lines.firstIndex(of: "<!-- routes -->"))
    let rows = lines[(start + 3)...].prefix { $0.hasPrefix("|") }
    #expect(Array(rows) == Route.allCases.map(Self.row))
  }

  private static func row(_ route: Route) -> String {
    let all = Set(Party.allCases)
    let parties =
      switch route.parties {
      case all: "anyone"
      case all.subtracting([.nobody]): "any token"
      default: Party.allCases.filter(route.parties.contains).map(\.rawValue).joined(separator: ", ")
      }
    return "| `\(route.method) \(route.path)` | \(route.summary) | \(parties) |"
  }
}
