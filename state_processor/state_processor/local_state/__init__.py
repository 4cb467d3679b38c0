"""Local keyed state (FLIP-44): its instances, how they are merged and written."""
