import Foundation
import Testing

@testable import FrontDoor

/// The pages for users say what the table of routes says.
struct RoutesPageTests {
  @Test(arguments: [
    ("docs/http.md", [Route.Need.nothing]), ("docs/messages.md", [.messages]),
    ("docs/accounts.md", [.people, .accounts]),
  ])
  func thePageHasEachRouteWithItsParties(page: String, needs: [Route.Need]) throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent(page)
    let lines = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n")
    let start = try #require(lines.firstIndex(of: "<!-- routes -->"))
    let rows = lines[(start + 3)...].prefix { $0.hasPrefix("|") }
    let routes = Route.allCases.filter { needs.contains($0.facts.needs) }
    #expect(Array(rows) == routes.map(Self.row))
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
