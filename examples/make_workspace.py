#!/usr/bin/env python3
"""Makes examples/workspace: the folder of an operations engineer of a small online shop.

    python3 examples/make_workspace.py           write the files
    python3 examples/make_workspace.py --check   compare them with what would be written

The files tell one story: on 17 March 2026 the node app-3 ran out of database connections while a report held most of
them, so seven orders stayed pending. Database, logs, configuration, notes and invoices agree on it. All of it is made
up; the output is the same on every machine (the SQLite file in content, not in the library version in its header).
Only Python's standard library is used.
"""

import csv
import datetime as dt
import io
import pathlib
import random
import sqlite3
import sys
import tempfile
import unicodedata

ROOT = pathlib.Path(__file__).parent / "workspace"
SEED = 14
FIRST_ORDER = 1001
NODES = ["app-1", "app-2", "app-3"]
DAY = dt.datetime(2026, 3, 17)
# What service.toml says and the logs repeat.
PORT, POOL, TIMEOUT_MS, TTL = 8472, 8, 1500, 300

SCHEMA = """
CREATE TABLE customers (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE,
  city TEXT NOT NULL,
  country TEXT NOT NULL,        -- ISO 3166, two letters
  created_on TEXT NOT NULL      -- YYYY-MM-DD
);
CREATE TABLE products (
  id INTEGER PRIMARY KEY,
  sku TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  category TEXT NOT NULL,
  price_cents INTEGER NOT NULL CHECK (price_cents > 0),
  stock INTEGER NOT NULL CHECK (stock >= 0)
);
CREATE TABLE orders (
  id INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers(id),
  status TEXT NOT NULL CHECK (status IN ('pending', 'paid', 'shipped', 'cancelled', 'refunded')),
  ordered_at TEXT NOT NULL,     -- UTC, YYYY-MM-DDTHH:MM:SSZ
  shipped_at TEXT,
  payment_method TEXT NOT NULL,
  node TEXT NOT NULL,           -- the server that took the order
  total_cents INTEGER NOT NULL  -- sum of the order's items
);
CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE INDEX orders_by_time ON orders (ordered_at);
CREATE TABLE order_items (
  order_id INTEGER NOT NULL REFERENCES orders(id),
  product_id INTEGER NOT NULL REFERENCES products(id),
  quantity INTEGER NOT NULL CHECK (quantity > 0),
  unit_price_cents INTEGER NOT NULL,
  PRIMARY KEY (order_id, product_id)
) WITHOUT ROWID;
CREATE VIEW monthly_revenue AS
  SELECT substr(ordered_at, 1, 7) AS month, count(*) AS orders, sum(total_cents) AS revenue_cents
  FROM orders WHERE status IN ('paid', 'shipped') GROUP BY month ORDER BY month;
"""

PRODUCTS = [line.split("|") for line in """
Tent Alpina 2|tents|28900
Tent Alpina 3|tents|34900
Tarp Nordlicht|tents|11900
Bivy Solo|tents|8950
Tent pegs, set of 10|tents|1490
Backpack Ridge 28|backpacks|11900
Backpack Ridge 45|backpacks|15900
Backpack Summit 65|backpacks|21900
Rain cover 45|backpacks|1990
Dry bag 10 l|backpacks|1690
Sleeping bag Down -5|sleeping|24900
Sleeping bag Summer|sleeping|7900
Sleeping mat Foam|sleeping|2990
Sleeping mat Air Pro|sleeping|12900
Pillow Compact|sleeping|1990
Silk liner|sleeping|4590
Gas stove Flame|cooking|5490
Gas cartridge 230 g|cooking|690
Pot set Duo|cooking|4990
Titanium mug 450 ml|cooking|2890
Spork|cooking|590
Water filter Quell|cooking|6490
Bottle 1 l|cooking|1790
Folding kettle|cooking|3390
Head torch 400|lights|4490
Lantern Glow|lights|3290
Spare battery AAA, 8 pieces|lights|890
Solar panel 20 W|lights|9900
Rain jacket Fjord, women|clothing|14900
Rain jacket Fjord, men|clothing|14900
Merino shirt|clothing|6990
Hiking socks|clothing|1890
Down vest|clothing|12900
Gaiters|clothing|3990
Sun hat|clothing|2490
Trekking poles Carbon|tools|9900
Compass Nord|tools|2990
Pocket knife Ranger|tools|3990
Repair kit|tools|1290
First aid kit|tools|2790
Map case|tools|1590
Rope 20 m|tools|2690
""".strip().splitlines()]

FIRST_NAMES = "Anna Ben Clara David Elif Felix Greta Hugo Ines Jan Katja Lukas Mira Noah Olga Paul Rosa Simon Tea Ugo Vera Wei Xenia Yusuf Zoë Lin Mei Jürgen".split()
LAST_NAMES = "Arslan Baumann Costa Dupont Eriksson Fischer Gruber Hansen Ivanova Jansen Keller Larsen Müller Novák Okafor Petit Rossi Schäfer Tanaka Vogel Weber Zhang".split()
CITIES = [("Berlin", "DE"), ("Hamburg", "DE"), ("München", "DE"), ("Köln", "DE"), ("Wien", "AT"), ("Graz", "AT"), ("Zürich", "CH"), ("Bern", "CH"),
          ("Paris", "FR"), ("Lyon", "FR"), ("Milano", "IT"), ("København", "DK"), ("Praha", "CZ"), ("Amsterdam", "NL")]


class Dice:
    """Draws from random.random() only: Python promises the same sequence for it in every version."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def number(self, low, high):
        return low + int(self.random() * (high - low + 1))

    def pick(self, items):
        return items[int(self.random() * len(items))]

    def weighted(self, weights):
        mark = self.random() * sum(weights.values())
        for item, weight in weights.items():
            mark -= weight
            if mark < 0:
                return item
        return item

    def hex8(self):
        return f"{int(self.random() * 2**32):08x}"


def stamp(time):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def ascii_name(text):
    return unicodedata.normalize("NFKD", text.replace("ø", "o")).encode("ascii", "ignore").decode().lower()


def make_customers(dice):
    customers, seen = [], set()
    while len(customers) < 64:
        first, last = dice.pick(FIRST_NAMES), dice.pick(LAST_NAMES)
        if (first, last) in seen:
            continue
        seen.add((first, last))
        city, country = dice.pick(CITIES)
        joined = dt.date(2023, 5, 2) + dt.timedelta(days=dice.number(0, 940))
        email = f"{ascii_name(first)}.{ascii_name(last)}@example.org"
        customers.append((len(customers) + 1, f"{first} {last}", email, city, country, joined.isoformat()))
    return customers


def make_products(dice):
    products = []
    for number, (name, category, price) in enumerate(PRODUCTS, 1):
        stock = 0 if name in ("Tent Alpina 3", "Water filter Quell", "Down vest") else dice.number(3, 240)
        products.append((number, f"{category[:2].upper()}-{number:03d}", name, category, int(price), stock))
    return products


# The night of the incident: time, node, status of each order taken from midnight to six.
NIGHT = [("00:19:42", "app-1", "shipped"), ("00:52:10", "app-2", "shipped"), ("01:27:55", "app-3", "shipped"), ("01:48:03", "app-1", "paid"),
         ("02:03:29", "app-2", "shipped"), ("02:15:11", "app-3", "pending"), ("02:18:47", "app-3", "pending"), ("02:20:36", "app-1", "shipped"),
         ("02:22:08", "app-3", "pending"), ("02:26:54", "app-3", "pending"), ("02:29:19", "app-2", "paid"), ("02:30:33", "app-3", "pending"),
         ("02:34:02", "app-3", "pending"), ("02:38:25", "app-3", "pending"), ("03:05:58", "app-3", "shipped"), ("03:50:14", "app-1", "cancelled"),
         ("04:31:40", "app-2", "shipped"), ("05:12:27", "app-3", "paid")]


def order_times(dice):
    """Yields time, node and status (None: to be drawn) of all orders, oldest first."""
    times = []
    while len(times) < 342:
        time = dt.datetime(2026, 1, 2) + dt.timedelta(seconds=dice.number(0, 88 * 86400 - 1))
        night = DAY <= time < DAY + dt.timedelta(hours=6)
        if not night and time.hour >= 6:
            times.append((time, dice.pick(NODES), None))
    for clock, node, status in NIGHT:
        times.append((dt.datetime.fromisoformat(f"2026-03-17T{clock}"), node, status))
    return sorted(times, key=lambda entry: entry[0])


def make_orders(dice, customers, products):
    orders, items = [], []
    favourites = [customer[0] for customer in customers if dice.random() < 0.3]
    for number, (time, node, status) in enumerate(order_times(dice), FIRST_ORDER):
        if status is None:
            fresh = time > dt.datetime(2026, 3, 24)
            status = dice.weighted({"pending": 30, "paid": 60, "shipped": 10} if fresh else
                                   {"pending": 4, "paid": 22, "shipped": 56, "cancelled": 10, "refunded": 8})
        customer = dice.pick(favourites) if dice.random() < 0.5 else dice.number(1, len(customers))
        chosen = {dice.number(1, len(products)) for _ in range(dice.weighted({1: 40, 2: 30, 3: 18, 4: 8, 5: 4}))}
        total = 0
        for product in sorted(chosen):
            price = products[product - 1][4]
            quantity = dice.weighted({1: 72, 2: 20, 3: 8}) if price < 10000 else 1
            items.append((number, product, quantity, price))
            total += quantity * price
        shipped = stamp(time + dt.timedelta(hours=dice.number(14, 90))) if status in ("shipped", "refunded") else None
        method = dice.weighted({"card": 55, "paypal": 25, "invoice": 15, "transfer": 5})
        orders.append((number, customer, status, stamp(time), shipped, method, node, total))
    return orders, items


def write_database(path, customers, products, orders, items):
    db = sqlite3.connect(path)
    db.execute("PRAGMA foreign_keys = ON")
    db.executescript(SCHEMA)
    db.executemany("INSERT INTO customers VALUES (?,?,?,?,?,?)", customers)
    db.executemany("INSERT INTO products VALUES (?,?,?,?,?,?)", products)
    db.executemany("INSERT INTO orders VALUES (?,?,?,?,?,?,?,?)", orders)
    db.executemany("INSERT INTO order_items VALUES (?,?,?,?)", items)
    db.commit()
    db.execute("VACUUM")
    db.close()


class Log:
    """Collects lines of app.log and access.log; lines of one time keep the order in which they were added."""

    def __init__(self, dice):
        self.dice, self.app, self.access = dice, [], []

    def line(self, time, level, part, node, text, req=None):
        self.now = time + dt.timedelta(milliseconds=self.dice.number(0, 999))
        req = f" req={req}" if req else ""
        self.app.append((self.now, f"{self.now.isoformat(timespec='milliseconds')}Z {level:<5} [{part}] node={node}{req} {text}"))

    def continued(self, text):
        """Adds a line without a time stamp, after the last one."""
        self.app.append((self.now, text))

    def request(self, time, method, path, status, node, req, seconds):
        ip = self.dice.pick(["192.0.2.", "198.51.100.", "203.0.113."]) + str(self.dice.number(1, 60))
        agent = self.dice.pick(["Mozilla/5.0 (X11; Linux x86_64) Firefox/136.0", "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3) Safari/605.1", "Mozilla/5.0 (Windows NT 10.0) Chrome/134.0"])
        size = 0 if status == 304 else self.dice.number(180, 420) if status >= 400 else self.dice.number(900, 24000)
        self.access.append((time, f'{ip} - - [{time:%d/%b/%Y:%H:%M:%S} +0000] "{method} {path} HTTP/1.1" {status} {size} "-" "{agent}" rt={seconds:.3f} node={node} req={req}'))


PANIC = """panic: runtime error: invalid memory address or nil pointer dereference [recovered]
goroutine 8124 [running]:
shop/internal/payment.(*Store).Confirm(0x0, {0x1a2b3c0, 0xc0004c2d20}, ORDER)
	shop/internal/payment/store.go:118 +0x5c
shop/internal/checkout.(*Handler).finish(0xc0001f6000, {0x1a2b3c0, 0xc0004c2d20}, 0xc000712b40)
	shop/internal/checkout/handler.go:241 +0x1d8
shop/internal/checkout.(*Handler).ServeHTTP(0xc0001f6000, {0x1a2d5e8, 0xc0007160e0}, 0xc00070e500)
	shop/internal/checkout/handler.go:87 +0x344
net/http.serverHandler.ServeHTTP({0xc0000b4150?}, {0x1a2d5e8?, 0xc0007160e0?}, 0x6?)
	net/http/server.go:3301 +0x8e"""


def make_logs(dice, customers, products, orders):
    log = Log(dice)
    start, end = DAY + dt.timedelta(hours=2, minutes=14), DAY + dt.timedelta(hours=2, minutes=41)
    at = lambda clock: dt.datetime.fromisoformat(f"2026-03-17T{clock}")
    for node in NODES:
        log.line(at("00:00:01"), "INFO", "server", node, f"listening on 0.0.0.0:{PORT} version=2026.03.2")

    # Orders of the night, as they stand in the database.
    for number, customer, status, ordered, _, method, node, total in orders:
        time = dt.datetime.fromisoformat(ordered[:-1])
        if not DAY <= time < DAY + dt.timedelta(hours=6):
            continue
        req = dice.hex8()
        log.line(time, "INFO", "checkout", node, f"order created id={number} customer={customer} total_cents={total} method={method}", req)
        if node == "app-3" and start <= time <= end:
            failed = time + dt.timedelta(seconds=2)
            log.line(failed, "ERROR", "db", node, f"code=DB_POOL_EXHAUSTED no free connection after {TIMEOUT_MS} ms ({POOL} of {POOL} in use)", req)
            log.line(failed, "ERROR", "payment", node, f"code=PAY_NOT_STORED order {number} stays pending", req)
            log.request(failed, "POST", "/api/orders", 503, node, req, 1.5 + dice.random() / 50)
        else:
            log.line(time + dt.timedelta(seconds=1), "INFO", "payment", node, f"payment of order {number} {'accepted' if status != 'cancelled' else 'declined by the bank'}", req)
            log.request(time, "POST", "/api/orders", 201 if status != "cancelled" else 402, node, req, 0.1 + dice.random() / 5)

    # The cause and the end of the incident.
    log.line(at("02:12:00"), "INFO", "jobs", "app-3", "job=monthly-report started (holds 6 connections until it ends)")
    log.line(at("02:13:20"), "WARN", "db", "app-3", f"code=DB_POOL_LOW 7 of {POOL} connections in use")
    for clock in ("02:14:00", "02:16:40", "02:17:32", "02:21:15", "02:24:09", "02:25:48", "02:28:03", "02:31:57", "02:33:10", "02:36:44", "02:39:58"):
        req = dice.hex8()
        product = dice.pick(products)[1]
        log.line(at(clock), "ERROR", "db", "app-3", f"code=DB_POOL_EXHAUSTED no free connection after {TIMEOUT_MS} ms ({POOL} of {POOL} in use)", req)
        log.request(at(clock), "GET", f"/api/products/{product}", 503, "app-3", req, 1.5 + dice.random() / 50)
    log.line(at("02:31:05"), "ERROR", "checkout", "app-3", "code=PANIC recovered in POST /api/orders", dice.hex8())
    before = [order[0] for order in orders if order[6] == "app-3" and order[3] < "2026-03-17T02:31:05Z"]
    for text in PANIC.replace("ORDER", hex(before[-1])).splitlines():
        log.continued(text)
    log.line(at("02:40:31"), "INFO", "jobs", "app-3", "job=monthly-report ended after 1711 s")
    log.line(at("02:41:12"), "WARN", "server", "app-3", "restarted by operator (k.gruber)")
    log.line(at("02:41:20"), "INFO", "server", "app-3", f"listening on 0.0.0.0:{PORT} version=2026.03.2")

    # Smaller trouble that has nothing to do with it.
    for clock, node in (("00:41:09", "app-1"), ("01:12:33", "app-2"), ("03:27:46", "app-2"), ("04:58:20", "app-1"), ("05:33:51", "app-2")):
        log.line(at(clock), "ERROR", "mail", node, "code=SMTP_REFUSED mail.example.net:587 refused the connection, 1 mail queued")
    for clock, node in (("01:05:17", "app-2"), ("04:12:38", "app-1"), ("05:47:02", "app-3")):
        log.line(at(clock), "ERROR", "payment", node, "code=PAY_TIMEOUT gateway did not answer within 5000 ms, trying again", dice.hex8())
    for hour in range(6):
        log.line(DAY + dt.timedelta(hours=hour, minutes=30), "WARN", "cache", dice.pick(NODES), f"code=CACHE_EVICT {dice.number(40, 220)} entries dropped before their {TTL} s were over")
        log.line(DAY + dt.timedelta(hours=hour, minutes=5), "INFO", "jobs", "app-1", f"job=stock-sync ended after {dice.number(4, 19)} s, {dice.number(0, 9)} products changed")

    while len(log.app) < 600:
        background(dice, log, products)
    sort = lambda lines: "".join(text + "\n" for _, text in sorted(lines, key=lambda entry: entry[0]))
    return sort(log.app), sort(log.access)


def background(dice, log, products):
    """Adds one ordinary request, sometimes with a remark of the cache."""
    time, node, req = DAY + dt.timedelta(seconds=dice.number(2, 6 * 3600 - 1)), dice.pick(NODES), dice.hex8()
    product = dice.pick(products)[1]
    method, path = dice.weighted({("GET", f"/api/products/{product}"): 50, ("GET", "/api/products?page=1"): 20, ("GET", "/api/cart"): 15, ("POST", "/api/cart"): 10, ("GET", "/healthz"): 5})
    status = dice.weighted({200: 94, 304: 4, 404: 2})
    seconds = 0.004 + dice.random() / 12
    log.line(time, "INFO" if path != "/healthz" else "DEBUG", "http", node, f"{method} {path} status={status} ms={int(seconds * 1000)}", req)
    log.request(time, method, path, status, node, req, seconds)
    if dice.random() < 0.12:
        log.line(time, "DEBUG", "cache", node, f"miss key=product:{product} ttl={TTL}", req)


CONFIG = f"""# Shop service, production. Nodes: app-1, app-2, app-3 (the same file on each).
# Changes go through scripts/deploy.sh; a node reads this file when it starts.

[server]
host = "0.0.0.0"
port = {PORT}                  # behind the load balancer, which listens on 443
read_timeout_seconds = 15
max_body_bytes = 1_048_576

[database]
driver = "postgres"
host = "db-1.internal.example.net"
name = "shop"
user = "shop_app"
password_file = "/etc/shop/db-password"
pool_size = {POOL}                # connections of one node
acquire_timeout_ms = {TIMEOUT_MS}    # how long a request waits for a free connection

[cache]
enabled = true
address = "cache-1.internal.example.net:6379"
ttl_seconds = {TTL}
max_entries = 20000

[payment]
gateway = "https://pay.example.com/v2"
timeout_ms = 5000
retries = 2

[mail]
smtp = "mail.example.net:587"
sender = "orders@shop.example.com"

[logging]
level = "debug"              # back to "info" once release 2026.03 has settled
format = "text"
file = "/var/log/shop/app.log"
keep_days = 14

[metrics]
enabled = true
address = "127.0.0.1:9102"

[jobs]
stock_sync = "5 * * * *"
monthly_report = "12 2 17 * *" # holds 6 database connections while it runs
"""

README = """# Operations folder of the shop

| path | holds |
| --- | --- |
| `shop.db` | SQLite copy of 31 March 2026: customers, products, orders, order items (amounts in cents, times in UTC) |
| `service.toml` | configuration of the shop service in production |
| `logs/` | `app.log` and `access.log` of 17 March 2026, midnight to six |
| `exports/` | CSV files for bookkeeping |
| `invoices/` | invoices as plain text |
| `notes/` | incident notes, runbook, handover |
| `scripts/` | deployment |

Order states: `pending` (no payment stored), `paid`, `shipped`, `cancelled` (never paid), `refunded` (sent back and paid back).
Revenue counts `paid` and `shipped`; see the view `monthly_revenue`.

On call: Katja Gruber (until 22 March), then Lin Zhang.
"""

RUNBOOK = """# Runbook

## A node reports DB_POOL_EXHAUSTED
1. Look which job holds connections: `[jobs]` lines of `logs/app.log`.
2. Wait for the job, or restart the node: `scripts/deploy.sh restart NODE`.
3. Find orders that stayed `pending` in the time of the incident, and ask the payment gateway about each.
4. Answer customers within 4 hours.

## A product is out of stock
Hide it in the shop (`stock = 0` does this by itself) and tell purchasing: purchasing@shop.example.com.

## Limits
- Refunds above 250 EUR need a second person.
- Deployments: Monday to Thursday, 09:00 to 15:00 UTC. Not in the last week of the quarter.
- Backups: nightly at 01:30 UTC, kept for 35 days.
"""


def incident_note(orders):
    held = [order for order in orders if order[2] == "pending" and "2026-03-17T02:14" <= order[3] <= "2026-03-17T02:42"]
    return f"""# Incident of 17 March 2026: orders without payment

- Start 02:14 UTC, end 02:41 UTC (restart of app-3 by Katja Gruber).
- Only app-3 was affected; app-1 and app-2 served normally.
- Cause: the job `monthly-report` held 6 of {POOL} database connections; the rest was too little for the checkout.
- Effect: {len(held)} orders stayed pending, {held[0][0]} to {held[-1][0]}. Customers saw status 503.

## To do
- [ ] Raise `database.pool_size` from {POOL} to 20 (capacity agreed with the database team).
- [ ] Move the report to a replica. Owner: Lin Zhang, due 2026-04-10.
- [x] Write to the customers of the {len(held)} orders.
"""


def handover(orders, products):
    empty = [product for product in products if product[5] == 0]
    held = [order for order in orders if order[2] == "pending" and "2026-03-17T02:14" <= order[3] <= "2026-03-17T02:42"]
    listed = "、".join(f"{product[2]}（{product[1]}）" for product in empty)
    return f"""# 值班交接（2026 年 3 月 22 日）

交班：Katja Gruber　接班：张琳（Lin Zhang）

## 目前情况
- 3 月 17 日凌晨的故障已经结束，原因是月度报表占用了 app-3 的数据库连接。
- 有 {len(held)} 个订单仍为 pending（待付款），需要向支付网关逐一核对。
- 缺货商品 {len(empty)} 种：{listed}。

## 待办事项
1. 把 `service.toml` 里的 `pool_size` 从 {POOL} 改为 20，部署窗口是 3 月 24 日（星期二）上午十点（UTC）。
2. 超过 250 欧元的退款必须由两个人批准。
3. 供应商“北山户外”的发货推迟到 4 月 2 日，帐篷 Tent Alpina 3 在此之前无法补货。

紧急联系电话：+49 30 5550 0142
"""


DEPLOY = f"""#!/bin/sh
# Deploys a release to the nodes, one after the other, or restarts one node.
#
#   deploy.sh release VERSION
#   deploy.sh restart NODE
set -eu

NODES="app-1 app-2 app-3"
PORT={PORT}
WAIT_SECONDS=20

healthy() {{
  curl -fsS "http://$1:$PORT/healthz" >/dev/null
}}

restart() {{
  ssh "deploy@$1" sudo systemctl restart shop
  sleep "$WAIT_SECONDS"
  healthy "$1" || {{
    echo "$1 is not healthy after $WAIT_SECONDS s; stopping here" >&2
    exit 1
  }}
}}

case "${{1:-}}" in
  release)
    version=${{2:?give a version, for example 2026.03.2}}
    for node in $NODES; do
      scp "build/shop-$version.tar.gz" "deploy@$node:/srv/shop/releases/"
      ssh "deploy@$node" ln -sfn "/srv/shop/releases/$version" /srv/shop/current
      restart "$node"
    done
    ;;
  restart)
    restart "${{2:?give a node: $NODES}}"
    ;;
  *)
    echo "usage: deploy.sh release VERSION | restart NODE" >&2
    exit 2
    ;;
esac
"""


def make_invoices(orders, items, customers, products):
    """The first twelve invoices. One does not agree with its order: a shipping fee was added by hand."""
    chosen = [order for order in orders if order[5] == "invoice" and order[2] in ("paid", "shipped") and order[3] < "2026-03-16"][:12]
    files = {}
    for number, order in enumerate(chosen, 41):
        customer = customers[order[1] - 1]
        lines = [f"Invoice INV-2026-{number:04d}", f"Order    {order[0]}", f"Date     {order[3][:10]}", f"Customer {customer[1]}, {customer[3]} ({customer[4]})", ""]
        total = 0
        for _, product, quantity, price in (item for item in items if item[0] == order[0]):
            lines.append(f"{quantity} x {products[product - 1][2]:<32} {quantity * price / 100:>9.2f}")
            total += quantity * price
        if number == 47:
            lines.append(f"1 x {'Express shipping':<32} {12.90:>9.2f}")
            total += 1290
        lines += ["", f"{'Total EUR':<36} {total / 100:>9.2f}", f"Due within 30 days. Status: {'paid' if order[2] == 'paid' or number % 3 else 'reminder sent'}", ""]
        files[f"invoices/INV-2026-{number:04d}.txt"] = "\n".join(lines)
    return files


def csv_text(header, rows):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def make_all():
    """Returns the text files by name, and what goes into the database."""
    dice = Dice(SEED)
    customers = make_customers(dice)
    products = make_products(dice)
    orders, items = make_orders(dice, customers, products)
    app, access = make_logs(dice, customers, products, orders)
    february = [(o[0], o[3], customers[o[1] - 1][2], o[2], f"{o[7] / 100:.2f}") for o in orders if o[3].startswith("2026-02")]
    files = {
        "README.md": README,
        "service.toml": CONFIG,
        "logs/app.log": app,
        "logs/access.log": access,
        "notes/incident-2026-03-17.md": incident_note(orders),
        "notes/runbook.md": RUNBOOK,
        "notes/handover-2026-03-22.md": handover(orders, products),
        "scripts/deploy.sh": DEPLOY,
        "exports/customers.csv": csv_text(["id", "name", "email", "city", "country", "created_on"], customers),
        "exports/orders_2026-02.csv": csv_text(["order_id", "ordered_at", "customer_email", "status", "total_eur"], february),
        **make_invoices(orders, items, customers, products),
    }
    return files, (customers, products, orders, items)


def dump(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return list(db.iterdump())
    finally:
        db.close()


def check(files, rows):
    """Returns the names of files that differ from what would be written."""
    differ = [name for name, text in files.items() if not (ROOT / name).is_file() or (ROOT / name).read_bytes() != text.encode()]
    with tempfile.TemporaryDirectory() as folder:
        fresh = pathlib.Path(folder) / "shop.db"
        write_database(fresh, *rows)
        if not (ROOT / "shop.db").is_file() or dump(fresh) != dump(ROOT / "shop.db"):
            differ.append("shop.db")
    return differ


def main():
    files, rows = make_all()
    if "--check" in sys.argv[1:]:
        differ = check(files, rows)
        for name in differ:
            print(f"{name} differs from what make_workspace.py writes", file=sys.stderr)
        return 1 if differ else 0
    for name, text in files.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        if name.endswith(".sh"):
            path.chmod(0o755)
    database = ROOT / "shop.db"
    database.unlink(missing_ok=True)
    write_database(database, *rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
