"""A real savepoint of a job of Flink 1.20.5 that watches a directory, see ``LegacyFiles.java``.

A reader is in the first of four files, ``a.txt`` with 50 bytes; three others, each with 60 bytes, wait.
"""

from __future__ import annotations

import base64
import zlib

UIDS = ("lines", "counts", "files")
DIRECTORY = "/tmp/filemig/in"  # where the job ran
NEWEST_MS = 1796015022086
METADATA = zlib.decompress(
    base64.b64decode(
        "eNrtWF1sFFUUvrOlhRatGwQekKKmiJEwv7s7u2vRZNtudcvSbrrbAuWh3Jm5ux26OzPO3G1ajYAmSkzjT/wNLwZ/"
        "XhRM9I0HgtEHExKMEYFoBPFBJZoYw4PRxES8d3a2u+tuoUAKhPQmu3Pn/pzznXO+O3PmJHblWADAElBqjHdtbvvc"
        "3PDpa5+d/lBrz9x/jvvDm9tXveh/7cDfa2emdx/3pzaf/vjil490NNrCUEU+4C/AKdaCNmZVs2hgZDOVNcwBcKdS"
        "VCcQZh0MMXKq9jPvMGBbVs+jh3lcsHjaK+g53rF4B04iy9QNzAY0DWUDrBhGqizLagiFJF6SYFAJyVE2EpElNqgq"
        "AVYRo1k2DGUZwZAmykGV4KJWtjTE50FgwH2DqfhQLDM4NJbOxDLxsd5EOjOU6B7OJAYHxrYO9sZB8/AA6buL/SOx"
        "5HB8LB0fSsSSidH4kGt8yrRzHLSgOo64bF43JsiNzqlmoWAaHJ62UBHreYdToIO4pGnk0sjWYV5/Etnra2/TBrSc"
        "cRMTqU31PpsvXn86lUxkKhPxy0C3rwI6tG04zXVPY5Sy9YKO9UkUo0NV5lxussY4UKEn0+8iAUz3uskt056dK9rJ"
        "nyRIMiuKbEBgWSEEHqjniVnEhAs1y/ZeKjVQklohqvc7u+m5zS8wgJuXMN6ljMAKnpB+T8hb27bgdf3e4EPkN0p+"
        "8xZ2xYVceSWnG5Zt5mzkOFwWiREloshsVM4G2WAAkp4gRtmoFMyGNSGYjUKt9vwenUx+e+6vg19d3PDn2tWdb26v"
        "8kLt+WXAKgqHJUHXsWnrRq7EuuqFJ67toMpRWQyr4QAbliBig1FNYhUZhlhRUVBQEtWQEIkQ6adKB/UyQBaC/Qtz"
        "cKnCdzee2dVSG43ffv7i5NFHn972Htrwz5Hu0Lo5n6YMaHGsvI7d52T5Of5J6dKU9h7nH5SuSy9dW1g0QQpCUVRY"
        "qAQ1NogEgYUCIaCMQpGAqoQhDMoAtA2Xw1JBtBBx6K2Lg00e0noBcW70uX44Cat8X3tb6/vDv4NmxwaJOokOthEs"
        "EEa5Mc4WDRXrpuFwjlm0VcRliDairGAhrY84MWFYRZymNr/03anOcDf43gd8/eQ1Ymp6Vlch3Uu3JEGb65k0xYnB"
        "6uRugo3XTb6MDyp51DVlgwfrAKmmTboOV6uuTAQfaOoHLXlk5PB4PzEJkydCEiyhAcbg3iSRxpek8a40nkrjsw6f"
        "gnic6tvUWJ9uEiIT+BRWI6W+BFjuGjRQLCjI3glax00HG5A6B9y9s2ReHho5Po3p8eyasqjfi3Z5kqOTnDf50cmR"
        "C792PPUYeQ6768pNKndIpDrmdAw1pYKMSVI1BGt7CYSBMD88lCAAiJA7XNVkiCNDh5kpruftxKEmuqfFcaFgsKIR"
        "dgzW1B8e3eAhh6fwlHuOT589TxS0V2yjJ79r5qdXTrzced5H317NkzBfRMTn/sqikvueP/xGx/LXf5yptn/NIkNv"
        "AkN9V8nQzbcOQ+9pyFBFqFCUvGqsRVbdBFYxtx2rpEVW3XRWgduOVWItq2rz4unxVRt3Hlv1zLN7j/0yNTPx9ZyF"
        "iaXedR+4rsaYYEEa8yJYbIttbn4cus79x29Ruy7cGD2+Zu/aeY2fvCisQDkksAEYEtlgVtJYRcwKrCpEJDEsKVBU"
        "gkR6rPTJu3DlAQY0uzXI2bqUf0t8R7zX+5DO7EjFQbP7lVwqrN7AwsXKgdjWeDoV66nTN3KFD/QRU9cG6GuNLEFV"
        "yuYYrysFtu33vOGWO5aVI16q4oG2V72BlupZpjx7prrUXbf3h2oO1c1e9AaaGs7+Wy6eN9R7qby80V7avOwpMqfz"
        "yIg64TKW65ntpmzTQjbWS3VyKtIHlo0Cv6Y7KrS1HmioKJ9H2ii40xvqg7p7f1f5Xjd0Z7x6JF1UnGKBjvhnRxwL"
        "GRodasmaJGcjnVaSxuUhAaYlQXsFW4bwCQOpPkvyzOArS/lyZOkeL5shcSFOEOfjhHT5ANPtB/d/s+z97SuPkNyN"
        "5IUEYwF6UEJzJGxoCqlFmkvys4L6Zrd1kXyPZl4Nc5ckWGmRzKwShJibz2Lw+Pysrsa9PtVAEvHFHhsEGmdns7i5"
        "BrjLZFpBsr6aOkTcKBaqJ0n61doTGxgcSPTEkqQ/K4so7rtq7ze0olrdE2APaMVgCVEY/w9XEZRn"
    )
)
