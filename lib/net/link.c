#include "lib/net/link.h"

#include <dirent.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* ioctl(2) of SIOCETHTOOL with its argument (linux/ethtool.h). */
static int ethtool(int fd, const char *interface, void *arg)
{
	struct ifreq ifr = {.ifr_data = arg};

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", interface);
	return ioctl(fd, SIOCETHTOOL, &ifr);
}

static void read_offloads(int fd, struct link *l)
{
	static const struct {
		uint32_t command, mask;
		const char *name;
	} all[] = {{ETHTOOL_GTSO, UINT32_MAX, "tso"},
		   {ETHTOOL_GGSO, UINT32_MAX, "gso"},
		   {ETHTOOL_GGRO, UINT32_MAX, "gro"},
		   {ETHTOOL_GFLAGS, ETH_FLAG_LRO, "lro"}};
	struct ethtool_value v;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		v = (struct ethtool_value){.cmd = all[i].command};
		if (ethtool(fd, l->interface, &v) != 0)
			continue;
		l->has_offloads = true;
		if ((v.data & all[i].mask) == 0)
			continue;
		if (l->offloads[0] != '\0')
			strcat(l->offloads, " ");
		strcat(l->offloads, all[i].name);
	}
}

/* Reads a line of a file of the interface in /sys. */
static int read_sys(const char *interface, const char *file, char *buf, size_t size)
{
	char path[64 + IF_NAMESIZE];

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", interface, file);
	return file_read_line(path, buf, size);
}

/*
 * Whether /sys has the interface of this name that the sockets have: /sys is of the network namespace
 * of whoever mounted it, and another one may have the same name.
 */
static bool sys_is_ours(int fd, const char *interface)
{
	struct ifreq ifr = {0};
	char text[64], address[18];
	const unsigned char *a = (const unsigned char *)ifr.ifr_hwaddr.sa_data;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", interface);
	if (read_sys(interface, "ifindex", text, sizeof(text)) != 0 ||
	    strtoul(text, NULL, 10) != if_nametoindex(interface) ||
	    ioctl(fd, SIOCGIFHWADDR, &ifr) != 0)
		return false;
	if (ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return true;
	snprintf(address, sizeof(address), "%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3],
		 a[4], a[5]);
	return read_sys(interface, "address", text, sizeof(text)) == 0 &&
	       strcmp(text, address) == 0;
}

/* Each queue is a directory `rx-N` or `tx-N` (Documentation/ABI/testing/sysfs-class-net-queues). */
static void read_queues(struct link *l)
{
	char path[64 + IF_NAMESIZE];
	const struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/class/net/%s/queues", l->interface);
	dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL) {
		l->rx_queues += strncmp(entry->d_name, "rx-", 3) == 0;
		l->tx_queues += strncmp(entry->d_name, "tx-", 3) == 0;
	}
	closedir(dir);
}

void link_read(struct link *l, const char *interface)
{
	struct ethtool_drvinfo driver = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq ifr = {0};
	int fd;

	*l = (struct link){.mtu = 0};
	if (interface == NULL || interface[0] == '\0')
		return;
	snprintf(l->interface, sizeof(l->interface), "%s", interface);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) /* a host without IPv4 */
		fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	strcpy(ifr.ifr_name, l->interface);
	if (ioctl(fd, SIOCGIFMTU, &ifr) == 0)
		l->mtu = ifr.ifr_mtu;
	if (ethtool(fd, interface, &driver) == 0) {
		snprintf(l->driver, sizeof(l->driver), "%.31s", driver.driver);
		make_printable(l->driver);
	}
	read_offloads(fd, l);
	if (sys_is_ours(fd, l->interface))
		read_queues(l);
	close(fd);
}
